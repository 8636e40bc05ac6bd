"""Settings of the operator, by the names of its flags.

The objects of one ModelService do not show them, so fields that depend on a setting are compared
only if the operator's arguments give it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from reporter.model.text import is_subdomain
from reporter.stacks.otterscale.manifests.names import GKE, ISTIO, NONE, Given

_PROVIDERS: Final = frozenset({ISTIO, GKE, NONE})
_SWITCHES: Final = {"true": True, "false": False}


def _is_provider(value: str) -> bool:
    return value in _PROVIDERS


def _is_bool(value: str) -> bool:
    return value in _SWITCHES


def _is_gateway(value: str) -> bool:
    return not value or is_subdomain(value)


def _is_image(value: str) -> bool:
    return bool(value) and _is_text(value)


def _is_text(value: str) -> bool:
    return not any(each.isspace() or not each.isprintable() for each in value)


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
    fits: Callable[[str], bool] | None = None  # whether a value is possible; None: not compared


OPERATOR_FLAGS: Final[Mapping[str, Flag]] = {
    METRICS_AUTH: Flag(BOOL, "whether the endpoint picker's metrics need a token", _is_bool),
    GATEWAY: Flag(
        "NAME", "Gateway of a ModelService without spec.httpRoute; empty for no route", _is_gateway
    ),
    "default_engine_image": Flag(
        "IMAGE", "image of vLLM, where spec.engine.image is empty", _is_image
    ),
    "default_epp_image": Flag(
        "IMAGE", "image of the endpoint picker, where none is named", _is_image
    ),
    "default_routing_proxy_image": Flag(
        "IMAGE", "image of the routing proxy, where none is named", _is_image
    ),
    "kit_image": Flag("IMAGE", "image that unpacks the model; empty for no such step", _is_text),
    TRACING: Flag(BOOL, "whether endpoint picker and routing proxy send traces", _is_bool),
    ENDPOINT: Flag("URL", "endpoint that traces are sent to", _is_text),
    SAMPLER: Flag("NAME", "OpenTelemetry's sampler; empty for none", _is_text),
    SAMPLER_ARG: Flag("TEXT", "argument of the sampler; empty for none", _is_text),
    "provider": Flag(f"{ISTIO}|{GKE}|{NONE}", "the implementation of the Gateway", _is_provider),
    "version": Flag("TEXT", "version of the operator, in labels; empty for no label"),
}
"""The operator's settings, named like its flags. The version has no flag, because it is built in;
its label is not compared."""

FLAGS: Final[Mapping[str, str]] = {
    field.replace("_", "-"): field for field, flag in OPERATOR_FLAGS.items() if flag.fits
}
"""The fields that are compared, by the operator's flags without leading hyphens."""


def given_by(arguments: Iterable[str]) -> Given:
    """Return the settings that the operator's arguments give.

    Go accepts one hyphen or two, and a value after `=` or, except for a switch, as the next
    argument. The last of several counts. A value that the kubelet fills in, `$(NAME)`, or that the
    operator would refuse is ignored, and so is what refines tracing where that is not given.
    """
    texts: dict[str, str] = {}
    field = ""
    for argument in arguments:
        if field:
            texts[field], field = argument, ""
            continue
        name, is_set, value = argument.lstrip("-").partition("=")
        known = FLAGS.get(name) if argument.startswith("-") else None
        if known is None:
            continue
        if is_set or _is_switch(known):
            texts[known] = value if is_set else "true"
        else:
            field = known
    given = {
        field: _SWITCHES[text] if _is_switch(field) else text
        for field, text in texts.items()
        if "$(" not in text and _fits(field, text)
    }
    if TRACING not in given:
        for each in (ENDPOINT, SAMPLER, SAMPLER_ARG):
            given.pop(each, None)
    return given


def _is_switch(field: str) -> bool:
    return OPERATOR_FLAGS[field].placeholder == BOOL


def _fits(field: str, text: str) -> bool:
    fits = OPERATOR_FLAGS[field].fits
    return fits is not None and fits(text)
