"""A flag for each setting, made from the settings themselves."""

import argparse
import sys
from collections.abc import Iterator, Sized
from enum import Enum
from typing import Final

from reporter.arguments import PROGRAM, Parser
from reporter.cli.configure import (
    FullProgramSettings,
    ProgramSettings,
    flag_of,
    load_settings,
    misspelt_variables,
)
from reporter.settings import DaemonSettings
from reporter.stacks.settings import FullEvaluationSettings
from reporter.stacks.stack import stacks_of

_CLUSTER: Final = "cluster"

_Groups = tuple[tuple[str, tuple[str, ...]], ...]

# fmt: off
_FIRST: Final[_Groups] = (
    (_CLUSTER, ("kubeconfig", "context")),
    ("passes, graces and budgets", (
        "resync_seconds", "self_check_seconds", "startup_grace_seconds", "grace",
        "node_boot_budget_seconds", "model_startup_budget_seconds",
        "load_balancer_budget_seconds", "change_window_seconds", "model_namespaces",
    )),
    ("metrics of model pods", (
        "weight_download_window_seconds", "weight_download_min_mbps",
        "runtime_reasons", "runtime_window", "runtime_threshold",
    )),
    ("scraping of model pods", (
        "scrape_via", "scrape_interval_seconds", "scrape_timeout_seconds", "scrape_concurrency",
        "scrape_max_bytes", "scrape_max_series", "scrape_scheme", "scrape_port", "scrape_path",
    )),
    ("events", ("emit", "disable_reasons", "release_namespace", "mirror_to_workload")),
    ("alerts", (
        "alertmanager_url", "alertmanager_token_file", "alertmanager_ca_file",
        "cluster_name", "alert_docs_url", "alert_dashboard_url",
    )),
    ("logs of pods that crash", ("pod_logs", "log_signatures")),
    ("components; an empty name switches one off", (
        "components", "istio_namespace", "istiod_deployment",
        "gateway_auth_namespace", "gateway_auth_deployment", "gateway_auth_operator_deployment",
        "azure_authz_namespace", "azure_authz_deployment", "bbr_namespace", "bbr_deployment",
        "network_policy_ignored_namespaces",
    )),
)
_LAST: Final[_Groups] = (
    ("listeners", (
        "metrics_bind_address", "metrics_authentication", "health_probe_bind_address",
        "report_bind_address", "report_hosts", "subject_series",
    )),
    ("leading", (
        "leader_elect", "leader_election_id",
        "lease_duration_seconds", "renew_deadline_seconds", "retry_period_seconds",
    )),
    ("logging", ("log_level", "log_format")),
)
# fmt: on


def _of_stacks() -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "stacks", ("stacks", "dialects")
    for stack in stacks_of(FullProgramSettings()):
        fields = dict.fromkeys(
            field
            for part in stack.settings()
            for field in part.model_fields
            if field not in DaemonSettings.model_fields
        )
        yield f"{stack.project}; an empty name switches a component off", tuple(fields)


GROUPS: Final[_Groups] = (*_FIRST, *_of_stacks(), *_LAST)
"""The flags in the order of the help; a setting that is not named here has no flag."""

FILE_ONLY: Final = frozenset({"custom_components"})
"""Settings that are too large for a flag or a variable."""

EPILOG: Final = (
    "Each flag has an environment variable, such as STATUS_REPORTER_RESYNC_SECONDS for "
    "--resync-seconds, and a key in the file of --config, such as resync-seconds. "
    "A flag wins over the environment, the environment over the file."
)


class _Switch(argparse.Action):
    """`--flag`, `--flag=false` and `--no-flag`."""

    def __call__(  # noqa: PLR0917 - argparse passes them by position
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        del parser
        negative = (option_string or "").startswith("--no-")
        setattr(namespace, self.dest, "false" if negative else (values or "true"))


def add_setting_flags(parser: Parser, *, daemon: bool) -> None:
    """Add a flag for each setting. Those that only a daemon needs are accepted in any case, so that
    its command line can be tried with `check`, and shown with `daemon`.
    """
    parser.add_argument(
        "--config", metavar="PATH", help="file of settings, YAML; STATUS_REPORTER_CONFIG"
    )
    for title, fields in GROUPS:
        # Which cluster is asked for as often as what is looked at.
        group = parser if title == _CLUSTER else parser.add_settings_group(title)
        for field in fields:
            _add_flag(group, field, shown=daemon or field in _EVALUATION)


_EVALUATION: Final = frozenset({*FullEvaluationSettings.model_fields, "kubeconfig", "context"})


def _add_flag(group: argparse._ActionsContainer, field: str, *, shown: bool) -> None:
    info = FullProgramSettings.model_fields[field]
    text = f"{info.description} {_default(info.default)}".replace("%", "%%")
    help_text = text if shown else argparse.SUPPRESS
    if info.annotation is bool:
        flags = (flag_of(field), f"--no-{field.replace('_', '-')}")
        group.add_argument(
            *flags, dest=field, nargs="?", metavar="BOOL", action=_Switch, help=help_text
        )
        return
    group.add_argument(
        flag_of(field),
        *_OTHER_NAMES.get(field, ()),
        dest=field,
        metavar=_metavar(field),
        action="append" if isinstance(info.default, (tuple, dict)) else "store",
        help=help_text,
    )


def settings_from(arguments: argparse.Namespace, program: str = PROGRAM) -> ProgramSettings:
    """Return what the command line, the environment and the file give; say what is misspelt."""
    for warning in misspelt_variables():
        sys.stderr.write(f"{program}: {warning}\n")
    given = {field: getattr(arguments, field, None) for field in FullProgramSettings.model_fields}
    flags = {
        field: ",".join(value) if isinstance(value, list) else str(value)
        for field, value in given.items()
        if value is not None
    }
    return load_settings(flags, arguments.config)


def _default(value: object) -> str:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, tuple):
        value = ",".join(map(str, value))
    if value is None or (isinstance(value, Sized) and not value):
        return ""
    return f"({value:g})" if isinstance(value, float) else f"({value})"


def _metavar(field: str) -> str:
    info = FullProgramSettings.model_fields[field]
    if isinstance(info.annotation, type) and issubclass(info.annotation, Enum):
        return "|".join(str(each.value) for each in info.annotation)
    return next((word for word, ends in _METAVARS.items() if field.endswith(ends)), "TEXT")


_OTHER_NAMES: Final = {
    "dialects": ("--dialect",),
    "scrape_port": ("--weight-download-metric-port",),
}
"""Names that flags have in the status reporter of kaito-project/production-stack, v0.4.0."""

_METAVARS: Final = {
    "SECONDS": ("_seconds",),
    "ADDRESS": ("_address",),
    "NAMESPACE": ("_namespace", "_namespaces"),
    "FLAG=VALUE": ("_flags",),
    "NAME": ("_deployment", "_name", "_id", "context"),
    "LEVEL": ("_level",),
    "REASON": ("_reasons",),
    "REASON=SECONDS": ("grace", "_window"),
    "NAME=VALUE": ("_threshold",),
    "NAME=MODE": ("components",),
    "STACK=MODE": ("stacks",),
    "MBPS": ("_mbps",),
    "BYTES": ("_bytes",),
    "NUMBER": ("_series", "_concurrency"),
    "KEY": ("_selector",),
    "PORT": ("_port",),
    "PATH": ("_path", "kubeconfig"),
    "FILE": ("log_signatures", "dialects", "_file"),
    "URL": ("_url",),
}
"""What the help shows for a value, by how a setting's name ends."""
