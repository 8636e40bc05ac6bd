"""Shell commands for looking at an object, to be copied by an operator.

They only read. A name that is not valid in Kubernetes never gets into a command.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from reporter.model.finding import Fails
from reporter.model.subject import API_RESOURCE, CRD_KIND, ObjectRef

MOST: Final = 5

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_LINES: Final = 50
_CONDITIONS: Final = (
    "-o jsonpath='{range .status.conditions[*]}"
    '{.type}={.status} {.reason}: {.message}{"\\n"}{end}\''
)
_ALL: Final = "--all-containers --ignore-errors --prefix"
"""Flags for `kubectl logs`. Containers without a previous run cause errors; the first would abort
the command."""

_CONTAINER: Final = re.compile(r"(?:init )?container ([a-z0-9](?:[-a-z0-9]*[a-z0-9])?)")


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def describe_command(ref: ObjectRef) -> str:
    """Return the kubectl command that shows an object.

    It is empty if `ref` is not an object or if part of its name is invalid.
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
    missing: Collection[ObjectRef] = (),
    fails: Fails = Fails.OTHERWISE,
) -> tuple[str, ...]:
    """Return the commands for looking at an object at fault, the most useful first.

    `more` are the commands of the reason and come last. `about` is the part at fault, such as
    `container vllm`. `mend` is another object that must be repaired; its command comes first. For
    an object in `missing`, the commands show what exists instead.
    """
    first: tuple[str, ...] = ()
    if mend is not None and mend != ref and _is_proper(mend):
        first = _instead(mend)[:1] if mend in missing else _own(mend, "")[:1]
    own: tuple[str, ...] = ()
    if _is_proper(ref):
        own = _instead(ref) if ref in missing else _own(ref, about, fails)
    return tuple(dict.fromkeys((*first, *own, *more)))[:MOST]


def conditions_command(ref: ObjectRef) -> str:
    if not _is_proper(ref):
        return ""
    return f"kubectl {_place(ref)}get {_resource(ref)} {ref.name} {_CONDITIONS}"


def _is_proper(ref: ObjectRef) -> bool:
    if not ref.api_version:
        return False  # not an API object, such as an image
    names = [ref.name, *filter(None, (ref.namespace, ref.group))]
    return bool(_KIND.fullmatch(ref.kind)) and all(map(is_name, names))


def _place(ref: ObjectRef) -> str:
    return f"-n {ref.namespace} " if ref.namespace else ""


def _resource(ref: ObjectRef) -> str:
    group = ref.group
    # kubectl finds the kinds of Kubernetes' own groups, which have no dot, without the group.
    return f"{ref.kind.lower()}.{group}" if "." in group else ref.kind.lower()


def _instead(ref: ObjectRef) -> tuple[str, ...]:
    if ref.kind == CRD_KIND:
        return f"kubectl api-resources --api-group={ref.name.partition('.')[2]}", "kubectl get crd"
    listed = f"kubectl {_place(ref)}get {_resource(ref)}"
    if not ref.namespace:
        return (listed,)
    elsewhere = f"kubectl get {_resource(ref)} -A --field-selector metadata.name={ref.name}"
    charts = ("helm list -A",) if ref.group == "apps" else ()
    return listed, elsewhere, *charts, f"kubectl {_place(ref)}get events {_LAST}"


def _own(ref: ObjectRef, about: str, fails: Fails = Fails.OTHERWISE) -> tuple[str, ...]:
    if ref.kind == API_RESOURCE:
        return f"kubectl auth can-i list {ref.name} -A", f"kubectl get {ref.name} -A"
    is_pod = (ref.group, ref.kind) == ("", "Pod")
    makes_pods = f"{ref.group}/{ref.kind}" in _MAKES_PODS
    if is_pod or makes_pods or fails is Fails.REFUSED:
        container = _CONTAINER.fullmatch(about) if is_pod else None
        named = ref.name if is_pod else f"{ref.kind.lower()}/{ref.name}"
        logs = f"logs {named} {f'-c {container[1]}' if container else _ALL} --tail={_LINES}"
        words = {"resource": _resource(ref), "name": ref.name, "named": named, "logs": logs}
        ways = _WAYS[fails][not is_pod]
        typed = (f"kubectl {_place(ref)}{each.format_map(words)}" for each in ways)
        more = (_NODES,) if fails is Fails.UNSCHEDULED else ()
        return describe_command(ref), *typed, *more
    words = {
        "place": _place(ref),
        "resource": _resource(ref),
        "name": ref.name,
        "of": ref.name.partition(".")[2],
        "conditions": _CONDITIONS,
    }
    looks = _LOOKS.get((ref.group, ref.kind), _CUSTOM)
    return tuple(f"kubectl {each.format_map(words)}" for each in looks)


_MAKES_PODS: Final = frozenset({"apps/Deployment", "apps/StatefulSet", "apps/DaemonSet"})
_LAST: Final = "--sort-by=.lastTimestamp"
_NODES: Final = (
    "kubectl get nodes -o custom-columns='NAME:.metadata.name,"
    "TAINTS:.spec.taints[*].key,ALLOCATABLE:.status.allocatable'"
)
_WAYS: Final[Mapping[Fails, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    Fails.OTHERWISE: (("{logs}",), ("get pods -o wide", "rollout history {named}")),
    Fails.ZERO: ((), ("get {resource} {name} -o yaml --show-managed-fields", "get hpa")),
    Fails.REFUSED: (
        (), ("get events --field-selector reason=FailedCreate", "describe quota,limitrange"),
    ),
    Fails.UNSCHEDULED: ((), ("get events --field-selector reason=FailedScheduling",)),
    Fails.WAITING: (
        (f"get events --field-selector involvedObject.name={{name}} {_LAST}",),
        ("get pods -o wide", f"get events --field-selector type=Warning {_LAST}"),
    ),
    Fails.CRASHING: (
        ("{logs} --previous", "{logs}"),
        ("{logs} --previous", "{logs}", "rollout history {named}"),
    ),
    Fails.UNREADY: (("{logs}",), ("{logs}", "get pods -o wide", "rollout history {named}")),
}  # fmt: skip
"""Commands to follow `describe`, by failure mode: those for a pod, and those for its workload."""

_DESCRIBE: Final = "{place}describe {resource} {name}"
_CUSTOM: Final = (_DESCRIBE, "{place}get {resource} {name} {conditions}")
_PARENTS: Final = (_DESCRIBE, "{place}get {resource} {name} -o jsonpath='{{.status.parents}}'")
_PLAIN: Final = (_DESCRIBE, "{place}get {resource} {name} -o yaml")

_LOOKS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "Node"): (_DESCRIBE, "get pods -A -o wide --field-selector spec.nodeName={name}"),
    ("apiextensions.k8s.io", CRD_KIND): ("get crd {name}", "api-resources --api-group={of}"),
    ("gateway.networking.k8s.io", "Gateway"): (
        *_CUSTOM, "{place}get pods -l gateway.networking.k8s.io/gateway-name={name} -o wide",
    ),
    ("gateway.networking.k8s.io", "HTTPRoute"): _PARENTS,
    ("inference.networking.k8s.io", "InferencePool"): _PARENTS,
    ("inference.networking.x-k8s.io", "InferencePool"): (
        _DESCRIBE, "{place}get {resource} {name} -o jsonpath='{{.status.parent}}'",
    ),
    ("", "Service"): (_DESCRIBE, "{place}get endpointslices -l kubernetes.io/service-name={name}"),
    ("", "Namespace"): _PLAIN,
    ("", "ConfigMap"): _PLAIN,
    ("", "ServiceAccount"): _PLAIN,
    ("security.istio.io", "AuthorizationPolicy"): _PLAIN,
    ("networking.istio.io", "EnvoyFilter"): _PLAIN,
    ("cilium.io", "CiliumNetworkPolicy"): _PLAIN,
}  # fmt: skip
"""Commands by group and kind of the object; other kinds are expected to have conditions."""
