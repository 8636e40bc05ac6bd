"""Settings of the operator that a user gives, by the names of its flags.

What cannot be told from one ModelService's objects alone is compared only where it is given.
"""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from reporter.model.text import is_subdomain, meant

Given: TypeAlias = Mapping[str, str | bool]
"""Values of fields of `OperatorSettings` in `reporter.stacks.otterscale.manifests.names`."""

NOTHING: Final[Given] = {}

PROVIDER: Final = "provider"
METRICS_AUTH: Final = "metrics_endpoint_auth"
GATEWAY: Final = "default_gateway_name"
ENGINE_IMAGE: Final = "default_engine_image"
EPP_IMAGE: Final = "default_epp_image"
PROXY_IMAGE: Final = "default_routing_proxy_image"
KIT_IMAGE: Final = "kit_image"
TRACING: Final = "tracing_enabled"
ENDPOINT: Final = "tracing_otel_endpoint"
SAMPLER: Final = "tracing_sampler"
SAMPLER_ARG: Final = "tracing_sampler_arg"

FIELDS: Final = (
    METRICS_AUTH,
    GATEWAY,
    ENGINE_IMAGE,
    EPP_IMAGE,
    PROXY_IMAGE,
    KIT_IMAGE,
    TRACING,
    ENDPOINT,
    SAMPLER,
    SAMPLER_ARG,
    PROVIDER,
)
"""What can be given. Labels are not compared, so neither is the version."""

_READ: Final = (PROVIDER, GATEWAY)
"""What is read of the operator's own arguments: all ModelServices rest on these."""

_PROVIDERS: Final = ("istio", "gke", "none")

_SWITCHES: Final = {"true": True, "false": False}
_NEVER_EMPTY: Final = frozenset({ENGINE_IMAGE, EPP_IMAGE, PROXY_IMAGE})
_OF_TRACING: Final = (ENDPOINT, SAMPLER, SAMPLER_ARG)


def flag_of(field: str) -> str:
    """Return the operator's flag for a setting, without hyphens in front."""
    return field.replace("_", "-")


FLAGS: Final[Mapping[str, str]] = {flag_of(field): field for field in FIELDS}
"""The fields, by flag."""


def given_of(flags: Mapping[str, str]) -> Given:
    """Return the settings that flags give.

    Raises:
        ValueError: there is no such flag, or it cannot have this value.

    """
    for flag, value in flags.items():
        if flag not in FLAGS:
            raise ValueError(f"{flag!r} is not a flag that is compared{meant(flag, FLAGS)}")
        wrong = _wrong(FLAGS[flag], value)
        if wrong:
            raise ValueError(f"{flag} {wrong}")
    given = {FLAGS[flag]: _value(FLAGS[flag], value) for flag, value in flags.items()}
    lonely = next((field for field in _OF_TRACING if field in given), None)
    if lonely and TRACING not in given:
        raise ValueError(f"{flag_of(lonely)} needs {flag_of(TRACING)} as well")
    return given


def told_by(arguments: Iterable[str]) -> Given:
    """Return what the operator's arguments say of provider and default Gateway.

    Go takes one hyphen or two, and a value behind `=` or as the next argument. Of several the last
    counts; one that the kubelet fills in, `$(NAME)`, tells nothing.
    """
    told: dict[str, str] = {}
    flag = ""
    for argument in arguments:
        if flag:
            told[FLAGS[flag]], flag = argument, ""
            continue
        name, is_set, value = argument.lstrip("-").partition("=")
        if not argument.startswith("-") or FLAGS.get(name) not in _READ:
            continue
        if is_set:
            told[FLAGS[name]] = value
        else:
            flag = name
    return {field: value for field, value in told.items() if "$(" not in value}


def _value(field: str, value: str) -> str | bool:
    return _SWITCHES[value] if field in (METRICS_AUTH, TRACING) else value


def _wrong(field: str, value: str) -> str:
    if field in (METRICS_AUTH, TRACING):
        return "" if value in _SWITCHES else f"is true or false, not {value!r}"
    if field == PROVIDER:
        return "" if value in _PROVIDERS else f"is one of {', '.join(_PROVIDERS)}, not {value!r}"
    if not value:
        return "is empty" if field in _NEVER_EMPTY else ""
    if field == GATEWAY:
        return "" if is_subdomain(value) else f"is the name of a Gateway, or empty, not {value!r}"
    has_space = any(each.isspace() or not each.isprintable() for each in value)
    return f"has a space or a control character: {value!r}" if has_space else ""
