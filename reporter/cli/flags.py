"""A flag for each setting, made from the settings themselves."""

import argparse
from collections.abc import Iterator, Mapping, Sized
from enum import Enum
from typing import Final

from reporter.arguments import Parser
from reporter.cli.configure import FullProgramSettings, ProgramSettings, flag_of, load_settings
from reporter.settings import DaemonSettings
from reporter.stacks.settings import FullEvaluationSettings
from reporter.stacks.stack import stacks_of

_LAST: Final = 3
"""Groups of flags that come after those of the stacks: listeners, leading, logging."""

_CLUSTER: Final = "cluster"

_SHARED: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (_CLUSTER, ("kubeconfig", "context")),
    (
        "passes, graces and budgets",
        (
            "resync_seconds",
            "self_check_seconds",
            "startup_grace_seconds",
            "grace",
            "node_boot_budget_seconds",
            "model_startup_budget_seconds",
            "load_balancer_budget_seconds",
            "change_window_seconds",
            "model_namespaces",
        ),
    ),
    (
        "metrics of model pods",
        (
            "weight_download_window_seconds",
            "weight_download_min_mbps",
            "runtime_reasons",
            "runtime_window",
            "runtime_threshold",
        ),
    ),
    (
        "scraping of model pods",
        (
            "scrape_via",
            "scrape_interval_seconds",
            "scrape_timeout_seconds",
            "scrape_concurrency",
            "scrape_max_bytes",
            "scrape_max_series",
            "scrape_scheme",
            "scrape_port",
            "scrape_path",
        ),
    ),
    (
        "events",
        ("emit", "disable_reasons", "release_namespace", "mirror_to_workload"),
    ),
    (
        "alerts",
        (
            "alertmanager_url",
            "alertmanager_token_file",
            "alertmanager_ca_file",
            "cluster_name",
            "alert_docs_url",
            "alert_dashboard_url",
        ),
    ),
    (
        "logs of pods that crash",
        ("pod_logs", "log_signatures"),
    ),
    (
        "components; an empty name switches one off",
        (
            "components",
            "istio_namespace",
            "istiod_deployment",
            "gateway_auth_namespace",
            "gateway_auth_deployment",
            "gateway_auth_operator_deployment",
            "azure_authz_namespace",
            "azure_authz_deployment",
            "bbr_namespace",
            "bbr_deployment",
            "network_policy_ignored_namespaces",
        ),
    ),
    (
        "listeners",
        (
            "metrics_bind_address",
            "metrics_authentication",
            "health_probe_bind_address",
            "report_bind_address",
            "report_hosts",
            "subject_series",
        ),
    ),
    (
        "leading",
        (
            "leader_elect",
            "leader_election_id",
            "lease_duration_seconds",
            "renew_deadline_seconds",
            "retry_period_seconds",
        ),
    ),
    ("logging", ("log_level", "log_format")),
)
"""The flags that are there whatever stacks there are."""


def _of_stacks() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the flags of the stacks: which are looked at, then each one's own."""
    yield "stacks", ("stacks", "dialects")
    for stack in stacks_of(FullProgramSettings()):
        fields = dict.fromkeys(
            field
            for part in stack.settings()
            for field in part.model_fields
            if field not in DaemonSettings.model_fields
        )
        yield f"{stack.project}; an empty name switches a component off", tuple(fields)


GROUPS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    *_SHARED[:-_LAST],
    *_of_stacks(),
    *_SHARED[-_LAST:],
)
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
        """Store `true`, `false` or the text given."""
        del parser
        negative = (option_string or "").startswith("--no-")
        setattr(namespace, self.dest, "false" if negative else (values or "true"))


def add_setting_flags(parser: Parser, *, daemon: bool) -> None:
    """Add a flag for each setting.

    Args:
        parser: the parser of a command.
        daemon: show the flags that only a daemon needs; they are accepted in any case, so that
            the command line of a daemon can be tried with `check`.

    """
    parser.add_argument(
        "--config", metavar="PATH", help="file of settings, YAML; STATUS_REPORTER_CONFIG"
    )
    for title, fields in GROUPS:
        # Which cluster is asked for as often as what is looked at.
        group = parser if title == _CLUSTER else parser.add_settings_group(title)
        for field in fields:
            shown = daemon or field in _EVALUATION
            _add_flag(group, field, shown=shown)


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
        action="append"
        if isinstance(FullProgramSettings.model_fields[field].default, (tuple, dict))
        else "store",
        help=help_text,
    )


def settings_from(arguments: argparse.Namespace) -> ProgramSettings:
    """Return the settings that the command line, the environment and the file give.

    Raises:
        UsageError: a value is not allowed, or the file cannot be used.

    """
    given: Mapping[str, object] = {
        field: value
        for field in FullProgramSettings.model_fields
        if (value := getattr(arguments, field, None)) is not None
    }
    flags = {
        field: ",".join(value) if isinstance(value, list) else str(value)
        for field, value in given.items()
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
    return next((word for end, word in _METAVARS.items() if field.endswith(end)), "TEXT")


_OTHER_NAMES: Final = {"scrape_port": ("--weight-download-metric-port",)}
"""Names that flags have in the status reporter of kaito-project/production-stack, v0.4.0."""

_METAVARS: Final = {
    "_seconds": "SECONDS",
    "_address": "ADDRESS",
    "_namespace": "NAMESPACE",
    "_namespaces": "NAMESPACE",
    "_flags": "FLAG=VALUE",
    "_deployment": "NAME",
    "_name": "NAME",
    "_id": "NAME",
    "_level": "LEVEL",
    "_reasons": "REASON",
    "grace": "REASON=SECONDS",
    "_window": "REASON=SECONDS",
    "_threshold": "NAME=VALUE",
    "components": "NAME=MODE",
    "stacks": "STACK=MODE",
    "_mbps": "MBPS",
    "_bytes": "BYTES",
    "_series": "NUMBER",
    "_concurrency": "NUMBER",
    "_selector": "KEY",
    "_port": "PORT",
    "_path": "PATH",
    "log_signatures": "FILE",
    "dialects": "FILE",
    "_file": "FILE",
    "_url": "URL",
    "cluster_name": "NAME",
    "kubeconfig": "PATH",
    "context": "NAME",
}
