"""Values that the API server refuses in what the operator makes, though the ModelService's schema takes them.

The rules are those of pods (Kubernetes, pkg/apis/core/validation/validation.go, v1.34), of quantities
(k8s.io/apimachinery, pkg/api/resource/quantity.go) and of host names (Gateway API,
apis/v1/shared_types.go, v1.3).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from reporter.model.text import is_subdomain
from reporter.stacks.otterscale.objects import ModelService, Resources

_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_QUANTITY: Final = re.compile(
    r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?", re.ASCII
)
_VARIABLE: Final = re.compile(r"[\x20-\x3c\x3e-\x7e]+")
"""Names of environment variables since Kubernetes 1.34: printable ASCII without `=`."""

_ADDRESS: Final = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}", re.ASCII)


@dataclass(frozen=True, slots=True)
class RefusedValue:
    """A value that cannot be: the field by its path, and what is wrong."""

    path: str
    text: str


def refused(service: ModelService) -> Iterator[RefusedValue]:
    """Yield what of a ModelService the API server would refuse, in the order of the fields."""
    engine = service.spec.engine
    if engine.image_pull_policy and engine.image_pull_policy not in _PULL_POLICIES:
        allowed = ", ".join(_PULL_POLICIES)
        text = f"{engine.image_pull_policy!r} is not allowed; allowed: {allowed}"
        yield RefusedValue("spec.engine.imagePullPolicy", text)
    for index, variable in enumerate(engine.env or ()):
        if not _VARIABLE.fullmatch(variable.name):
            text = f"{variable.name!r} can be no variable's name: printable ASCII without ="
            yield RefusedValue(f"spec.engine.env[{index}].name", text)
    yield from _resources(service)
    route = service.spec.http_route
    for index, host in enumerate((route.hostnames if route else None) or ()):
        if not _is_hostname(host):
            text = f"{host!r} can be no host name: lower-case, no address, * in front only"
            yield RefusedValue(f"spec.httpRoute.hostnames[{index}]", text)


def _resources(service: ModelService) -> Iterator[RefusedValue]:
    spec = service.spec
    yield from _quantities(spec.decode.resources, "spec.decode.resources")
    if spec.prefill is not None:
        yield from _quantities(spec.prefill.resources, "spec.prefill.resources")
    if spec.inference_pool is not None:
        picker = spec.inference_pool.endpoint_picker
        yield from _quantities(picker.resources, "spec.inferencePool.endpointPicker.resources")


def _quantities(resources: Resources, path: str) -> Iterator[RefusedValue]:
    for group, amounts in (("limits", resources.limits), ("requests", resources.requests)):
        for name, amount in (amounts or {}).items():
            if not _QUANTITY.fullmatch(str(amount)):
                yield RefusedValue(
                    f"{path}.{group}[{name}]", f"{amount!r} is no quantity, such as 500m or 8Gi"
                )
            elif str(amount).startswith("-"):
                yield RefusedValue(f"{path}.{group}[{name}]", f"{amount!r} is negative")


def _is_hostname(host: str) -> bool:
    name = host.removeprefix("*.")
    return is_subdomain(name) and not _ADDRESS.fullmatch(name)
