"""Settings of the operator that a user gives, by the names of its flags.

What cannot be told from one ModelService's objects alone is compared only where it is given.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from reporter.model.text import is_subdomain, meant
from reporter.stacks.otterscale.manifests.names import GKE, ISTIO, NONE, Given

_PROVIDERS: Final = (ISTIO, GKE, NONE)
_SWITCHES: Final = {"true": True, "false": False}


def _no_switch(value: str) -> str:
    return "" if value in _SWITCHES else f"is true or false, not {value!r}"


def _no_provider(value: str) -> str:
    return "" if value in _PROVIDERS else f"is one of {', '.join(_PROVIDERS)}, not {value!r}"


def _no_gateway(value: str) -> str:
    is_fine = not value or is_subdomain(value)
    return "" if is_fine else f"is the name of a Gateway, or empty, not {value!r}"


def _no_image(value: str) -> str:
    return _no_text(value) if value else "is empty"


def _no_text(value: str) -> str:
    has_space = any(each.isspace() or not each.isprintable() for each in value)
    return f"has a space or a control character: {value!r}" if has_space else ""


METRICS_AUTH: Final = "metrics_endpoint_auth"
GATEWAY: Final = "default_gateway_name"
TRACING: Final = "tracing_enabled"
ENDPOINT: Final = "tracing_otel_endpoint"
SAMPLER: Final = "tracing_sampler"
SAMPLER_ARG: Final = "tracing_sampler_arg"

_WRONG: Final[Mapping[str, Callable[[str], str]]] = {
    METRICS_AUTH: _no_switch,
    GATEWAY: _no_gateway,
    "default_engine_image": _no_image,
    "default_epp_image": _no_image,
    "default_routing_proxy_image": _no_image,
    "kit_image": _no_text,
    TRACING: _no_switch,
    ENDPOINT: _no_text,
    SAMPLER: _no_text,
    SAMPLER_ARG: _no_text,
    "provider": _no_provider,
}
"""What can be given, and what says why a value is wrong. Labels are not compared, so neither is the
version."""

FLAGS: Final[Mapping[str, str]] = {field.replace("_", "-"): field for field in _WRONG}
"""The fields by the operator's flags for them, without hyphens in front."""

_READ: Final = ("provider", GATEWAY)
"""What is read of the operator's own arguments: all ModelServices rest on these."""


def given_of(flags: Mapping[str, str]) -> Given:
    """Return the settings that flags give.

    Raises:
        ValueError: there is no such flag, or it cannot have this value.

    """
    given: dict[str, str | bool] = {}
    for flag, value in flags.items():
        if flag not in FLAGS:
            raise ValueError(f"{flag!r} is not a flag that is compared{meant(flag, FLAGS)}")
        is_wrong = _WRONG[FLAGS[flag]]
        if wrong := is_wrong(value):
            raise ValueError(f"{flag} {wrong}")
        given[FLAGS[flag]] = _SWITCHES[value] if is_wrong is _no_switch else value
    lonely = next((each for each in (ENDPOINT, SAMPLER, SAMPLER_ARG) if each in given), "")
    if lonely and TRACING not in given:
        flag, needed = (each.replace("_", "-") for each in (lonely, TRACING))
        raise ValueError(f"{flag} needs {needed} as well")
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
