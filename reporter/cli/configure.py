"""Settings from flags, environment and file: flag wins over environment wins over file."""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from difflib import get_close_matches
from enum import Enum
from functools import partial
from pathlib import Path
from reprlib import Repr
from typing import Final, TypeAlias, cast

import annotated_types
from pydantic import ValidationError, create_model
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from reporter.arguments import CONFIG_VARIABLE, PROGRAM, Parser
from reporter.catalogue.custom.extend import DeclarationError, Wrong
from reporter.errors import UsageError
from reporter.model.text import clean, cut, meant
from reporter.setting_types import (
    BUDGETS,
    FIELD,
    Allowed,
    SettingError,
    wrong_form,
    wrong_in_catalogue,
)
from reporter.settings import ENV_PREFIX, DaemonSettings
from reporter.stacks import stacks_with
from reporter.stacks.settings import FullEvaluationSettings, with_stacks
from reporter.stacks.stack import stacks_of
from reporter.yaml_reader.limits import Limits, Unreadable
from reporter.yaml_reader.reading import decoded, read_yaml

_LIMITS: Final = Limits(size=1024 * 1024)
_SHOWN_BYTES: Final = 120
_SIMILAR: Final = 0.85


class _Short(Repr):
    """Values as short text: a value that repeats YAML aliases may be too large to print."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = 10
        self.maxstring = self.maxlong = self.maxother = 2 * _SHOWN_BYTES


class ProgramSettings(DaemonSettings):
    """All settings of `run` and `check`, and the cluster to read."""

    kubeconfig: Path | None = None
    """File with access to the cluster; by default in-cluster, KUBECONFIG or ~/.kube/config."""

    context: str | None = None
    """Context in that file; the current one by default."""


FullProgramSettings: Final = with_stacks(ProgramSettings)
"""The same with the settings of all stacks."""


_Layer: TypeAlias = tuple[Callable[[str], str], Mapping[str, object]]
"""One source of settings: how a user writes a setting there, and the values."""


def flag_of(field: str) -> str:
    return "--" + field.replace("_", "-")


def variable_of(field: str) -> str:
    return ENV_PREFIX + field.upper()


_FORMER: Final[Mapping[str, str]] = {
    **{
        field: instead
        for part in FullProgramSettings.__mro__
        for field, instead in vars(part).get("gone", {}).items()
    },
    **{
        f"{part}_{what}".replace("-", "_"): f"use --components {part}=[NAMESPACE/]DEPLOYMENT"
        for part in FullProgramSettings.placed_parts()
        for what in ("namespace", "deployment")
    },
    **{
        f"{name.replace('-', '_')}_budget_seconds": f"use --grace {name}=SECONDS"
        for name in BUDGETS
    },
    "runtime_window": "use --grace REASON=SECONDS",
    "runtime_reasons": "use --disable-reasons runtime, or the names of some",
    "cluster_name": "use --alert-fields cluster=NAME",
    "alertmanager_token_file": "use --alertmanager-credentials FOLDER, with token",
    "alertmanager_ca_file": "use --alertmanager-credentials FOLDER, with ca.crt",
    "alert_docs_url": "use --alert-fields docs=URL",
    "alert_dashboard_url": "use --alert-fields dashboard=URL",
}
"""Settings of release 0.2.0 that are refused, and what to use instead."""

_CONSTANT: Final[Mapping[str, str]] = {
    "self_check_seconds": "a self-check is made every 10 minutes",
    "scrape_concurrency": "32 pods are scraped at once",
    "scrape_max_bytes": "pages may have 8 MiB",
    "scrape_max_series": "pages may have 20,000 series",
    "network_policy_ignored_namespaces": "the namespaces of the chart's defaults are ignored",
    "change_window_seconds": "changes of the last 30 minutes are reported with a fault",
    "renew_deadline_seconds": "it is two thirds of --lease-duration-seconds",
    "retry_period_seconds": "it is two fifteenths of --lease-duration-seconds",
    "scrape_timeout_seconds": "a scrape may take 5 s",
    "scrape_path": "pages are read at /metrics",
    "scrape_scheme": "it is that of the container's readiness probe",
    "scrape_selector": "pods are found by the label that their controller gives them",
    "gateway_auth_operator_deployment": "the operator of API keys is Deployment apikey-operator",
    "subject_series": "there are at most 10,000 series of each metric that names subjects",
    "log_format": "it is JSON, and text for people on a terminal",
}
"""Settings of release 0.2.0 that are ignored with a warning, and what is true now."""

_MOVED: Final[Mapping[str, tuple[str, str]]] = {
    **{f"{name.replace('-', '_')}_budget_seconds": ("grace", f"{name}=") for name in BUDGETS},
    "runtime_window": ("grace", ""),
    "cluster_name": ("alert_fields", "cluster="),
    "alert_docs_url": ("alert_fields", "docs="),
    "alert_dashboard_url": ("alert_fields", "dashboard="),
}
"""Former flags that are still taken, with a warning: the setting, and what precedes the value."""


def _environment() -> Mapping[str, object]:
    """Return the settings from variables as texts, which are parsed like those of flags.

    Without a variable, as in the chart's pods, pydantic-settings is not loaded, to save memory.
    """
    if not any(name.upper().startswith(ENV_PREFIX) for name in os.environ):
        return {}
    from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

    class Variables(BaseSettings):
        model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, enable_decoding=False)

    made = create_model("Variables", __base__=(FullProgramSettings, Variables))
    return EnvSettingsSource(cast("type[BaseSettings]", made))()


def load_settings(flags: Mapping[str, str], config: str | None = None) -> ProgramSettings:
    config = config or os.environ.get(CONFIG_VARIABLE)
    file = _read_file(Path(config)) if config else {}
    environment = _environment()
    for field, instead in _FORMER.items():
        if variable_of(field) in os.environ:
            raise UsageError(f"{variable_of(field)} is gone: {instead}")
    for field in _CONSTANT:
        if variable_of(field) in os.environ:
            _ignore(variable_of(field), field)
    layers: tuple[_Layer, ...] = (
        (flag_of, flags),
        (variable_of, environment),
        (lambda field: f"{field.replace('_', '-')} in {config}", file),
    )
    values = {**file, **environment, **flags}
    own = values.get("dialects")
    try:
        stacks = stacks_with(Path(str(own)) if own else None)
    except UsageError as error:
        raise UsageError(f"{_given('dialects', layers)[0]}: {clean(str(error))}") from None
    try:
        made = with_stacks(ProgramSettings, stacks) if own else FullProgramSettings
        settings = made.model_validate(values)
    except ValidationError as error:
        raise UsageError("\n  ".join(_explain(error, layers))) from None
    if settings.log_signatures:
        from reporter.diagnosis.signatures import signatures_with

        try:
            signatures_with(settings.log_signatures)  # report errors in the file at the start
        except (UsageError, ValueError) as error:
            raise UsageError(
                f"{_given('log_signatures', layers)[0]}: {clean(str(error))}"
            ) from None
    return settings


def misspelt_variables() -> list[str]:
    """Return a warning for each environment variable that resembles one of ours.

    Other variables with our prefix are not mistakes: Kubernetes sets some for a Service with the
    reporter's name.
    """
    known = {variable_of(field) for field in FullProgramSettings.model_fields} | {CONFIG_VARIABLE}
    gone = set(map(variable_of, (*_FORMER, *_CONSTANT)))
    warnings = []
    for name in sorted(os.environ):
        if name.startswith(ENV_PREFIX) and name not in known | gone:
            near = get_close_matches(name, known, n=1, cutoff=_SIMILAR)
            if near:
                warnings.append(f"{name} is not a setting; did you mean {near[0]}?")
    return warnings


def allowed(field: str) -> str:
    info = FullProgramSettings.model_fields[field]
    for part in info.metadata:
        if isinstance(part, Allowed):
            stacks = ", ".join(each.name for each in FullProgramSettings.known_stacks)
            parts = ", ".join(FullProgramSettings.known_parts())
            placed = ", ".join(FullProgramSettings.placed_parts())
            return part.text.format(stacks=stacks, parts=parts, placed=placed)
    annotation = info.annotation
    if annotation is bool:
        return "true or false"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(str(each.value) for each in annotation)
    if annotation in (int, float):
        noun = "a whole number" if annotation is int else "a number"
        return f"{noun} {_range(info)}".strip()
    return "text"


def _range(info: FieldInfo) -> str:
    limits = []
    for part in info.metadata:
        match part:
            case annotated_types.Ge(ge=low):
                limits.append(f"from {low}")
            case annotated_types.Gt(gt=low):
                limits.append(f"above {low}")
            case annotated_types.Le(le=high):
                limits.append(f"to {high}")
            case _:
                pass
    return " ".join(limits)


def _read_file(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            raw = file.read(_LIMITS.size + 1)
    except OSError as error:
        raise UsageError(f"--config {path}: {(error.strerror or str(error)).lower()}") from None
    if len(raw) > _LIMITS.size:
        raise UsageError(f"--config {path}: larger than {_LIMITS.size} bytes")
    try:
        # Of a duplicate key, the first value would be lost silently.
        content = read_yaml(decoded(raw), limits=_LIMITS, duplicate_keys="refuse")
    except Unreadable as error:
        raise UsageError(f"--config {path}: not YAML: {cut(clean(str(error)), 200)}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise UsageError(f"--config {path}: not a mapping of settings to values")
    fields = {_field_of(key, path): value for key, value in content.items()}
    if len(fields) < len(content):
        raise UsageError(f"--config {path}: a setting is given twice, with - and with _")
    for field in fields.keys() & _CONSTANT:
        _ignore(f"--config {path}: {field.replace('_', '-')}", field)
        del fields[field]
    return fields


def _ignore(given: str, field: str) -> None:
    sys.stderr.write(f"{PROGRAM}: warning: {given} is gone, and ignored: {_CONSTANT[field]}\n")


def _field_of(key: object, path: Path) -> str:
    field = str(key).replace("-", "_")
    if field in FullProgramSettings.model_fields or field in _CONSTANT:
        return field
    if instead := _FORMER.get(field):
        raise UsageError(f"--config {path}: {_shown(key)} is gone: {instead}")
    known = [each.replace("_", "-") for each in FullProgramSettings.model_fields]
    hint = meant(field.replace("_", "-"), known)
    raise UsageError(f"--config {path}: {_shown(key)} is not a setting{hint}")


def _shown(value: object) -> str:
    text = f"'{value}'" if isinstance(value, str) else _Short().repr(value)
    return cut(clean(text), _SHOWN_BYTES)


def _explain(error: ValidationError, layers: Sequence[_Layer]) -> list[str]:
    lines: dict[str, str] = {}
    errors = error.errors(include_url=False)
    for line in _wrong_declarations(errors, layers):
        lines.setdefault(line, line)
    for each in errors:
        if _is_declaration(each):
            continue
        cause = each.get("ctx", {}).get("error")
        if isinstance(cause, SettingError):
            field, why, takes = cause.field, "", cause.allowed
        else:
            field = str(each["loc"][0])
            why = f" ({clean(str(cause))})" if isinstance(cause, ValueError) else ""
            takes = allowed(field)
        name, value = _given(field, layers)
        empty = value in (None, ()) and not any(field in values for _, values in layers)
        wrong = "not given" if empty else f"{_shown(value)} is not allowed{why}"
        lines.setdefault(field, f"{name}: {wrong}; allowed: {takes}")
    return list(lines.values())


def _is_declaration(error: ErrorDetails) -> bool:
    """Tell whether an error is about a single declaration, not about their list."""
    cause = error.get("ctx", {}).get("error")
    return error["loc"][:1] == (FIELD,) and (
        isinstance(cause, DeclarationError) or len(error["loc"]) > 1
    )


def _wrong_declarations(errors: Sequence[ErrorDetails], layers: Sequence[_Layer]) -> list[str]:
    name, value = _given(FIELD, layers)
    found: list[Wrong] = []
    for each in filter(_is_declaration, errors):
        cause = each.get("ctx", {}).get("error")
        found += cause.wrong if isinstance(cause, DeclarationError) else wrong_form(each, value)
    if not any(isinstance(each.get("ctx", {}).get("error"), DeclarationError) for each in errors):
        found += wrong_in_catalogue(
            value, frozenset(each.entry for each in found), FullProgramSettings.built_in()
        )
    return [_declaration_line(name, each) for each in sorted(found, key=lambda each: each.entry)]


def _declaration_line(setting: str, wrong: Wrong) -> str:
    problem = wrong.problem
    who = f" ({cut(clean(wrong.reason), _SHOWN_BYTES)})" if wrong.reason else ""
    key = f", {cut(clean(problem.key), _SHOWN_BYTES)}" if problem.key else ""
    value = "missing" if problem.value is None else f"{_shown(problem.value)} is not allowed"
    why = f" ({clean(problem.why)})" if problem.why else ""
    where = f"{setting}: entry {wrong.entry}{who}{key}"
    return f"{where}: {value}{why}; allowed: {problem.allowed}"


def _given(field: str, layers: Sequence[_Layer]) -> tuple[str, object]:
    for name, values in layers:
        if field in values:
            return name(field), values[field]
    return flag_of(field), FullProgramSettings.model_fields[field].default


_CLUSTER: Final = "cluster"
_OFF: Final = "; an empty name switches a component off"

_Groups = tuple[tuple[str, tuple[str, ...]], ...]

# fmt: off
_FIRST: Final[_Groups] = (
    (_CLUSTER, ("kubeconfig", "context")),
    ("passes, graces and budgets", (
        "resync_seconds", "startup_grace_seconds", "grace", "model_namespaces",
    )),
    ("metrics of model pods", (
        "scrape_via", "scrape_interval_seconds", "scrape_port", "runtime_threshold",
        "weight_download_window_seconds", "weight_download_min_mbps",
    )),
    ("events", ("emit", "disable_reasons", "release_namespace", "mirror_to_workload")),
    ("alerts", (
        "alertmanager_url", "alertmanager_credentials", "alert_fields",
    )),
    ("logs of pods that crash", ("pod_logs", "log_signatures")),
    (f"components{_OFF}", (
        "components", "istio_namespace", "istiod_deployment",
        "gateway_auth_namespace", "gateway_auth_deployment",
        "azure_authz_namespace", "azure_authz_deployment", "bbr_namespace", "bbr_deployment",
    )),
)
_LAST: Final[_Groups] = (
    ("listeners", (
        "metrics_bind_address", "metrics_authentication", "health_probe_bind_address",
        "report_bind_address", "report_hosts",
    )),
    ("leading", ("leader_elect", "leader_election_id", "lease_duration_seconds")),
    ("logging", ("log_level",)),
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
        named = any(FullProgramSettings.model_fields[each].annotation is str for each in fields)
        if fields:
            yield stack.project + _OFF * named, tuple(fields)


GROUPS: Final[_Groups] = (*_FIRST, *_of_stacks(), *_LAST)
"""The flags in the order of the help; a setting that is not listed here has no flag."""

FILE_ONLY: Final = frozenset({"custom_components"})
"""Settings that are too large for flags and variables."""

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


def _ignored(field: str, value: str) -> str:
    _ignore(flag_of(field), field)
    return value


def _moved(field: str, value: str) -> str:
    sys.stderr.write(f"{PROGRAM}: warning: {flag_of(field)} is going: {_FORMER[field]}\n")
    return f"{_MOVED[field][1]}{value}"


def add_setting_flags(parser: Parser, *, daemon: bool) -> None:
    """Add a flag for each setting. Flags that only a daemon needs are always accepted, so that its
    command line can be tried with `check`, but are shown only with `daemon`.
    """
    parser.add_argument(
        "--config", metavar="PATH", help="file of settings, YAML; STATUS_REPORTER_CONFIG"
    )
    parser.former = {flag_of(field): instead for field, instead in _FORMER.items()}
    for title, fields in GROUPS:
        # Flags of the cluster are needed so often that `--help` shows them.
        group = parser if title == _CLUSTER else parser.add_settings_group(title)
        for field in fields:
            _add_flag(group, field, shown=daemon or field in _EVALUATION)
    hidden = argparse.SUPPRESS
    for field in _CONSTANT:
        parser.add_argument(flag_of(field), type=partial(_ignored, field), dest=hidden, help=hidden)
    for field, (setting, _) in _MOVED.items():
        parser.add_argument(
            flag_of(field), type=partial(_moved, field), dest=setting, action="append", help=hidden
        )


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
    """Return the settings from command line, environment and file; warn of misspelt variables."""
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
    if isinstance(value, bool):
        value = str(value).lower()
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
"""Aliases; the port's is from the reporter of kaito-project/production-stack, v0.4.0."""

_METAVARS: Final = {
    "SECONDS": ("_seconds",),
    "ADDRESS": ("_address",),
    "SELECTOR": ("model_namespaces",),
    "HOST": ("_hosts",),
    "NAMESPACE": ("_namespace",),
    "NAME": ("_deployment", "_name", "_id", "context"),
    "LEVEL": ("_level",),
    "REASON": ("_reasons",),
    "NAME=SECONDS": ("grace",),
    "NAME=VALUE": ("_threshold", "components", "_fields"),
    "STACK=MODE": ("stacks",),
    "MBPS": ("_mbps",),
    "PORT": ("_port",),
    "PATH": ("kubeconfig",),
    "FOLDER": ("_credentials",),
    "FILE": ("log_signatures", "dialects"),
    "URL": ("_url",),
}
"""Metavars in the help, by the end of a setting's name; the first that fits counts."""
