"""Serving pods: their containers, accelerators and the port of vLLM's side channel."""

import re
from typing import Final

from reporter.stacks.otterscale.objects import EnvVar, Json, Parallelism, Resources

CONTAINER: Final = "vllm"
MODEL_UNPACK: Final = "model-unpack"
ROUTING_PROXY: Final = "routing-proxy"
SIDE_CHANNEL_VARIABLE: Final = "VLLM_NIXL_SIDE_CHANNEL_PORT"

_PORT: Final = re.compile(r"\+?0*([0-9]{1,5})")
_MOST_PORT: Final = 65_535

RESOURCE_NAMES: Final = {
    "nvidia": "nvidia.com/gpu",
    "amd": "amd.com/gpu",
    "intel-gaudi": "habana.ai/gaudi",
    "google": "google.com/tpu",
}


def resource_name(accelerator: str) -> str | None:
    """Return the name of the extended resource; None if pods ask for none."""
    return RESOURCE_NAMES.get(accelerator)


def count(parallelism: Parallelism) -> int:
    """Return how many accelerators a pod asks for; data parallelism does not count."""
    return max(parallelism.tensor, 1) * max(parallelism.data_local, 1)


def with_accelerators(resources: Resources, accelerator: str, number: int) -> Json:
    """Return the resources of a container, with the accelerators in limits and in requests.

    A value that the user set for the same key is replaced.
    """
    wanted = resources_json(resources)
    name = resource_name(accelerator)
    if name is None or number == 0:
        return wanted
    own = {name: str(number)}
    return {
        **wanted,
        "limits": {**(resources.limits or {}), **own},
        "requests": {**(resources.requests or {}), **own},
    }


def resources_json(resources: Resources) -> Json:
    """Return what is set, in the API's form."""
    parts: Json = {
        "limits": resources.limits,
        "requests": resources.requests,
        "claims": list(resources.claims) if resources.claims else None,
    }
    return {key: value for key, value in parts.items() if value is not None}


def side_channel_port(variables: tuple[EnvVar, ...]) -> int | None:
    """Return the port of vLLM's side channel, if its first variable names one literally."""
    for variable in variables:
        if variable.name == SIDE_CHANNEL_VARIABLE:
            literal = _PORT.fullmatch(variable.value)
            number = int(literal[1]) if literal else 0
            return number if 0 < number <= _MOST_PORT else None
    return None
