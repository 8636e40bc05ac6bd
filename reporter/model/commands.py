"""What to type to look at an object: commands with its names, to be copied into a shell.

They only read. A part of a name that is no proper name never gets into a command.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from reporter.model.subject import API_RESOURCE, ObjectRef

MOST: Final = 5
"""Most commands for one finding."""

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_LINES: Final = 50
_CONDITIONS: Final = (
    "-o jsonpath='{range .status.conditions[*]}"
    '{.type}={.status} {.reason}: {.message}{"\\n"}{end}\''
)
_PARENTS: Final = "-o jsonpath='{.status.parents}'"

_Look: TypeAlias = Callable[[ObjectRef], tuple[str, ...]]


def is_name(text: str) -> bool:
    """Tell whether a text is the name of an object and nothing else."""
    return _NAME.fullmatch(text) is not None


def describe_command(ref: ObjectRef) -> str:
    """Return the kubectl command that shows an object.

    It is empty for what is no object, and where a part of the name is not proper.
    """
    if ref.kind == API_RESOURCE or not _is_proper(ref):
        return ""
    return f"kubectl {_place(ref)}describe {_resource(ref)} {ref.name}"


def commands_for(ref: ObjectRef, more: Iterable[str] = ()) -> tuple[str, ...]:
    """Return what to type to look at an object at fault, the first thing to do in front.

    Args:
        ref: the object.
        more: commands that belong to the reason, which come behind.

    """
    if not _is_proper(ref):
        return tuple(dict.fromkeys(more))[:MOST]
    own = _LOOKS.get(ref.kind, _custom)(ref)
    return tuple(dict.fromkeys((*own, *more)))[:MOST]


def conditions_command(ref: ObjectRef) -> str:
    """Return the command that lists the conditions of an object; empty for a name that is not proper."""
    if not _is_proper(ref):
        return ""
    return f"kubectl {_place(ref)}get {_resource(ref)} {ref.name} {_CONDITIONS}"


def _is_proper(ref: ObjectRef) -> bool:
    names = [ref.name, *filter(None, (ref.namespace, _group(ref)))]
    return bool(_KIND.fullmatch(ref.kind)) and all(map(is_name, names))


def _group(ref: ObjectRef) -> str:
    return ref.api_version.rpartition("/")[0]


def _place(ref: ObjectRef) -> str:
    return f"-n {ref.namespace} " if ref.namespace else ""


def _resource(ref: ObjectRef) -> str:
    group = _group(ref)
    # Groups without a dot are Kubernetes' own, and their kinds need no group to be found.
    return f"{ref.kind.lower()}.{group}" if "." in group else ref.kind.lower()


def _custom(ref: ObjectRef) -> tuple[str, ...]:
    return describe_command(ref), conditions_command(ref)


def _pod(ref: ObjectRef) -> tuple[str, ...]:
    logs = f"kubectl {_place(ref)}logs {ref.name} --all-containers --tail={_LINES}"
    return describe_command(ref), f"{logs} --previous", logs


def _workload(ref: ObjectRef) -> tuple[str, ...]:
    named = f"{ref.kind.lower()}/{ref.name}"
    logs = f"kubectl {_place(ref)}logs {named} --all-containers --tail={_LINES}"
    history = f"kubectl {_place(ref)}rollout history {named}"
    return describe_command(ref), logs, f"{logs} --previous", history


def _routed(ref: ObjectRef) -> tuple[str, ...]:
    return describe_command(ref), f"kubectl {_place(ref)}get {_resource(ref)} {ref.name} {_PARENTS}"


def _gateway(ref: ObjectRef) -> tuple[str, ...]:
    label = f"gateway.networking.k8s.io/gateway-name={ref.name}"
    return *_custom(ref), f"kubectl {_place(ref)}get pods -l {label} -o wide"


def _node(ref: ObjectRef) -> tuple[str, ...]:
    pods = f"kubectl get pods -A -o wide --field-selector spec.nodeName={ref.name}"
    return describe_command(ref), pods


def _crd(ref: ObjectRef) -> tuple[str, ...]:
    group = ref.name.partition(".")[2]
    return f"kubectl get crd {ref.name}", f"kubectl api-resources --api-group={group}"


def _service(ref: ObjectRef) -> tuple[str, ...]:
    label = f"kubernetes.io/service-name={ref.name}"
    return describe_command(ref), f"kubectl {_place(ref)}get endpointslices -l {label}"


def _plain(ref: ObjectRef) -> tuple[str, ...]:
    return describe_command(ref), f"kubectl {_place(ref)}get {_resource(ref)} {ref.name} -o yaml"


def _api_resource(ref: ObjectRef) -> tuple[str, ...]:
    return f"kubectl auth can-i list {ref.name} -A", f"kubectl get {ref.name} -A"


_LOOKS: Final[Mapping[str, _Look]] = {
    "Pod": _pod,
    "Deployment": _workload,
    "StatefulSet": _workload,
    "DaemonSet": _workload,
    "Node": _node,
    "CustomResourceDefinition": _crd,
    "Gateway": _gateway,
    "HTTPRoute": _routed,
    "InferencePool": _routed,
    "Service": _service,
    "Namespace": _plain,
    "ConfigMap": _plain,
    "ServiceAccount": _plain,
    "AuthorizationPolicy": _plain,
    "EnvoyFilter": _plain,
    "CiliumNetworkPolicy": _plain,
    API_RESOURCE: _api_resource,
}
"""How to look at an object by its kind; any other kind has conditions."""
