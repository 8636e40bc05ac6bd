"""Settings of the operator that a user gives, by the names of its flags.

The objects of one ModelService do not show them, so fields that depend on a setting are compared
only if it is given.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

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
BOOL: Final = "BOOL"


class Flag(NamedTuple):
    placeholder: str
    meaning: str
    wrong: Callable[[str], str] | None = None  # returns why a value is wrong; None: not compared


OPERATOR_FLAGS: Final[Mapping[str, Flag]] = {
    METRICS_AUTH: Flag(BOOL, "whether the endpoint picker's metrics need a token", _no_switch),
    GATEWAY: Flag(
        "NAME", "Gateway of a ModelService without spec.httpRoute; empty for no route", _no_gateway
    ),
    "default_engine_image": Flag(
        "IMAGE", "image of vLLM, where spec.engine.image is empty", _no_image
    ),
    "default_epp_image": Flag(
        "IMAGE", "image of the endpoint picker, where none is named", _no_image
    ),
    "default_routing_proxy_image": Flag(
        "IMAGE", "image of the routing proxy, where none is named", _no_image
    ),
    "kit_image": Flag("IMAGE", "image that unpacks the model; empty for no such step", _no_text),
    TRACING: Flag(BOOL, "whether endpoint picker and routing proxy send traces", _no_switch),
    ENDPOINT: Flag("URL", "endpoint that traces are sent to", _no_text),
    SAMPLER: Flag("NAME", "OpenTelemetry's sampler; empty for none", _no_text),
    SAMPLER_ARG: Flag("TEXT", "argument of the sampler; empty for none", _no_text),
    "provider": Flag("|".join(_PROVIDERS), "the implementation of the Gateway", _no_provider),
    "version": Flag("TEXT", "version of the operator, in labels; empty for no label"),
}
"""The operator's settings, named like its flags. The version has no flag, because it is built in;
its label is not compared."""

FLAGS: Final[Mapping[str, str]] = {
    field.replace("_", "-"): field for field, flag in OPERATOR_FLAGS.items() if flag.wrong
}
"""The fields that can be given, by the operator's flags without leading hyphens."""

_READ: Final = ("provider", GATEWAY)
"""The settings that are read from the operator's own arguments: all ModelServices need them."""


def given_of(flags: Mapping[str, str]) -> Given:
    """Return the settings that flags give.

    Raises:
        ValueError: a flag is unknown, needs another one, or has a value that is not allowed.

    """
    given: dict[str, str | bool] = {}
    for flag, value in flags.items():
        if flag not in FLAGS:
            raise ValueError(f"{flag!r} is not a flag that is compared{meant(flag, FLAGS)}")
        row = OPERATOR_FLAGS[FLAGS[flag]]
        if row.wrong and (wrong := row.wrong(value)):
            raise ValueError(f"{flag} {wrong}")
        given[FLAGS[flag]] = _SWITCHES[value] if row.placeholder == BOOL else value
    lonely = next((each for each in (ENDPOINT, SAMPLER, SAMPLER_ARG) if each in given), "")
    if lonely and TRACING not in given:
        flag, needed = (each.replace("_", "-") for each in (lonely, TRACING))
        raise ValueError(f"{flag} needs {needed} as well")
    return given


def given_by(arguments: Iterable[str]) -> Given:
    """Return the provider and the default Gateway that the operator's arguments set.

    Go accepts one hyphen or two, and a value after `=` or as the next argument. The last of several
    counts; a value that the kubelet fills in, `$(NAME)`, is ignored.
    """
    given: dict[str, str] = {}
    flag = ""
    for argument in arguments:
        if flag:
            given[FLAGS[flag]], flag = argument, ""
            continue
        name, is_set, value = argument.lstrip("-").partition("=")
        if not argument.startswith("-") or FLAGS.get(name) not in _READ:
            continue
        if is_set:
            given[FLAGS[name]] = value
        else:
            flag = name
    return {field: value for field, value in given.items() if "$(" not in value}
