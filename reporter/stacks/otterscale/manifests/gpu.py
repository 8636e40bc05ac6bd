"""Accelerators of a serving pod."""

from typing import Final

from reporter.stacks.otterscale.objects import Json, Parallelism, Resources

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
