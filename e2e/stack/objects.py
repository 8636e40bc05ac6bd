"""Parts of objects: conditions, owners, Gateways, and what a stored one has of a written one."""

from collections.abc import Iterable

from lab.demo.sample_stack import present
from lab.sandbox.objects import JSON, Object, dig, meta, name_of
from lab.sandbox.workloads import is_ready, with_condition


def lost(wanted: JSON, found: JSON, path: str = "", *, empty_counts: bool = True) -> list[str]:
    """Return the paths of what is missing or different, whatever the API server has added.

    Args:
        wanted: a written object, or a part of it.
        found: the stored one.
        path: of that part.
        empty_counts: whether zeros, empty texts, lists and objects must be there.
    """
    if isinstance(wanted, dict) and (isinstance(found, dict) or not empty_counts):
        parts = [(f"{path}.{key}", each, dig(found, key)) for key, each in wanted.items()]
    elif isinstance(wanted, list) and isinstance(found, list) and len(found) == len(wanted):
        pairs = zip(wanted, found, strict=True)
        parts = [(f"{path}[{at}]", one, other) for at, (one, other) in enumerate(pairs)]
    else:
        same = wanted == found or not (empty_counts or wanted or found)
        return [] if same else [path]
    return [
        each
        for below, one, other in parts
        for each in lost(one, other, below, empty_counts=empty_counts)
    ]


def condition(type_: str, status: str = "True", reason: str = "", message: str = "") -> Object:
    """Return a new condition; its reason is its type where none is given."""
    (made,) = with_condition((), (type_, status, reason or type_, message), now=present())
    return made


def gateway(namespace: str, name: str) -> Object:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "gatewayClassName": "istio",
            "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
        },
    }


def owned_by(obj: Object, uid: str) -> bool:
    return any(each.get("uid") == uid for each in meta(obj).get("ownerReferences") or ())


def deleting(obj: Object) -> bool:
    return bool(meta(obj).get("deletionTimestamp"))


def schedulable(nodes: Iterable[Object]) -> list[str]:
    """Return the names of the nodes for pods that need no accelerator."""
    return sorted(
        name_of(node)
        for node in nodes
        if is_ready(node)
        and not dig(node, "spec", "unschedulable")
        and "accelerator" not in (meta(node).get("labels") or {})
    )
