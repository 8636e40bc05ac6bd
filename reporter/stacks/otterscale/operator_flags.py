"""Settings of the operator, by the names of its flags.

The objects of one ModelService do not show them, so fields that depend on a setting are compared
only if the operator's arguments give it.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from reporter.model.text import is_subdomain
from reporter.stacks.otterscale.manifests.names import GKE, ISTIO, NONE, Given

METRICS_AUTH: Final = "metrics_endpoint_auth"
GATEWAY: Final = "default_gateway_name"
TRACING: Final = "tracing_enabled"
ENDPOINT: Final = "tracing_otel_endpoint"
SAMPLER: Final = "tracing_sampler"
SAMPLER_ARG: Final = "tracing_sampler_arg"

_SWITCHES: Final = {"true": True, "false": False}
_NEVER_EMPTY: Final = frozenset(
    {"default_engine_image", "default_epp_image", "default_routing_proxy_image"}
)


class Flag(NamedTuple):
    placeholder: str
    meaning: str
    choices: Collection[str] = ()  # the possible values; empty for any text

    @property
    def is_switch(self) -> bool:
        return self.choices is _SWITCHES


OPERATOR_FLAGS: Final[Mapping[str, Flag]] = {
    METRICS_AUTH: Flag("BOOL", "whether the endpoint picker's metrics need a token", _SWITCHES),
    GATEWAY: Flag("NAME", "Gateway of a ModelService without spec.httpRoute; empty for no route"),
    "default_engine_image": Flag("IMAGE", "image of vLLM, where spec.engine.image is empty"),
    "default_epp_image": Flag("IMAGE", "image of the endpoint picker, where none is named"),
    "default_routing_proxy_image": Flag("IMAGE", "image of the routing proxy, where none is named"),
    "kit_image": Flag("IMAGE", "image that unpacks the model; empty for no such step"),
    TRACING: Flag("BOOL", "whether endpoint picker and routing proxy send traces", _SWITCHES),
    ENDPOINT: Flag("URL", "endpoint that traces are sent to"),
    SAMPLER: Flag("NAME", "OpenTelemetry's sampler; empty for none"),
    SAMPLER_ARG: Flag("TEXT", "argument of the sampler; empty for none"),
    "provider": Flag(
        f"{ISTIO}|{GKE}|{NONE}", "the implementation of the Gateway", (ISTIO, GKE, NONE)
    ),
    "version": Flag("TEXT", "version of the operator, in labels; empty for no label"),
}
"""The operator's settings, named like its flags. The version has no flag, because it is built in;
its label is not compared."""

FLAGS: Final[Mapping[str, str]] = {
    name.replace("_", "-"): name for name in OPERATOR_FLAGS if name != "version"
}
"""The fields that are compared, by the operator's flags without leading hyphens."""


def typed(texts: Mapping[str, str]) -> Given:
    """Return the values of settings from their texts, each of its field's type."""
    return {
        name: _SWITCHES[text] if OPERATOR_FLAGS[name].is_switch else text
        for name, text in texts.items()
    }


def given_by(arguments: Iterable[str]) -> Given:
    """Return the settings that the operator's arguments give.

    Go accepts one hyphen or two, and a value after `=` or, except for a switch, as the next
    argument. The last of several counts. A value that the kubelet fills in, `$(NAME)`, or that the
    operator would refuse is ignored, and so is what refines tracing where that is not given.
    """
    texts: dict[str, str] = {}
    waiting = ""
    for argument in arguments:
        if waiting:
            texts[waiting], waiting = argument, ""
            continue
        flag, is_set, value = argument.lstrip("-").partition("=")
        known = FLAGS.get(flag) if argument.startswith("-") else None
        if known is None:
            continue
        if is_set or OPERATOR_FLAGS[known].is_switch:
            texts[known] = value if is_set else "true"
        else:
            waiting = known
    fitting = {name: text for name, text in texts.items() if _fits(name, text)}
    if TRACING not in fitting:
        for each in (ENDPOINT, SAMPLER, SAMPLER_ARG):
            fitting.pop(each, None)
    return typed(fitting)


def _fits(name: str, text: str) -> bool:
    if "$(" in text or (name in _NEVER_EMPTY and not text):
        return False
    if choices := OPERATOR_FLAGS[name].choices:
        return text in choices
    if name == GATEWAY:
        return not text or is_subdomain(text)
    return not any(each.isspace() or not each.isprintable() for each in text)
