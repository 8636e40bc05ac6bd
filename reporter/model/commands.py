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
_ALL: Final = "--all-containers --ignore-errors --prefix"
"""Containers that never ended have no previous run, and one such error would end the command."""

_CONTAINER: Final = re.compile(r"(?:init )?container ([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)")

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


def commands_for(
    ref: ObjectRef,
    more: Iterable[str] = (),
    *,
    about: str = "",
    mend: ObjectRef | None = None,
    missing: bool = False,
    started: bool = True,
) -> tuple[str, ...]:
    """Return what to type to look at an object at fault, the first thing to do in front.

    Args:
        ref: the object.
        more: commands that belong to the reason, which come behind.
        about: the part of the object that is at fault, such as `container vllm`, where it is known.
        mend: the object that must be mended, where it is another one; it comes first.
        missing: the object that must be mended does not exist: those that do are listed.
        started: a container of the pod at fault has run: what never did has no log.

    """
    first: tuple[str, ...] = ()
    own = _own(ref, about) if _is_proper(ref) else ()
    if mend is not None and missing and _is_proper(mend):
        first = (f"kubectl {_place(mend)}get {_resource(mend)}",)
        own = () if mend == ref else own
    elif mend is not None and mend != ref and _is_proper(mend):
        first = _own(mend, "")[:1]
    if not started:
        own = tuple(each for each in own if " logs " not in each)
    return tuple(dict.fromkeys((*first, *own, *more)))[:MOST]


def conditions_command(ref: ObjectRef) -> str:
    """Return the command that lists the conditions of an object; empty for a name that is not proper."""
    if not _is_proper(ref):
        return ""
    return f"kubectl {_place(ref)}get {_resource(ref)} {ref.name} {_CONDITIONS}"


def _is_proper(ref: ObjectRef) -> bool:
    if not ref.api_version:
        return False  # no object, such as an image
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


def _own(ref: ObjectRef, about: str) -> tuple[str, ...]:
    if ref.kind == API_RESOURCE:
        return f"kubectl auth can-i list {ref.name} -A", f"kubectl get {ref.name} -A"
    container = _CONTAINER.fullmatch(about)
    if container and (_group(ref), ref.kind) == ("", "Pod"):
        return describe_command(ref), *_logs(ref, ref.name, f"-c {container[1]}")
    return _LOOKS.get((_group(ref), ref.kind), _custom)(ref)


def _custom(ref: ObjectRef) -> tuple[str, ...]:
    return describe_command(ref), conditions_command(ref)


def _logs(ref: ObjectRef, named: str, containers: str) -> tuple[str, str]:
    """Return the commands for the logs of the run before, and of this one."""
    logs = f"kubectl {_place(ref)}logs {named} {containers} --tail={_LINES}"
    return f"{logs} --previous", logs


def _pod(ref: ObjectRef) -> tuple[str, ...]:
    return describe_command(ref), *_logs(ref, ref.name, _ALL)


def _workload(ref: ObjectRef) -> tuple[str, ...]:
    named = f"{ref.kind.lower()}/{ref.name}"
    previous, logs = _logs(ref, named, _ALL)
    history = f"kubectl {_place(ref)}rollout history {named}"
    return describe_command(ref), logs, previous, history


def _routed(ref: ObjectRef) -> tuple[str, ...]:
    return _status_of(ref, "parents")


def _former_pool(ref: ObjectRef) -> tuple[str, ...]:
    return _status_of(ref, "parent")


def _status_of(ref: ObjectRef, name: str) -> tuple[str, ...]:
    path = f"-o jsonpath='{{.status.{name}}}'"
    return describe_command(ref), f"kubectl {_place(ref)}get {_resource(ref)} {ref.name} {path}"


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


_LOOKS: Final[Mapping[tuple[str, str], _Look]] = {
    ("", "Pod"): _pod,
    ("apps", "Deployment"): _workload,
    ("apps", "StatefulSet"): _workload,
    ("apps", "DaemonSet"): _workload,
    ("", "Node"): _node,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _crd,
    ("gateway.networking.k8s.io", "Gateway"): _gateway,
    ("gateway.networking.k8s.io", "HTTPRoute"): _routed,
    ("inference.networking.k8s.io", "InferencePool"): _routed,
    ("inference.networking.x-k8s.io", "InferencePool"): _former_pool,
    ("", "Service"): _service,
    ("", "Namespace"): _plain,
    ("", "ConfigMap"): _plain,
    ("", "ServiceAccount"): _plain,
    ("security.istio.io", "AuthorizationPolicy"): _plain,
    ("networking.istio.io", "EnvoyFilter"): _plain,
    ("cilium.io", "CiliumNetworkPolicy"): _plain,
}
"""How to look at an object by its group and kind; any other has conditions."""
