"""Parts of objects: times, conditions, and what a stored object has of a written one."""

from collections.abc import Sequence

from lab.demo.sample_stack import Says, present
from lab.sandbox.objects import JSON, Object, dig


def with_condition(before: Sequence[Object], says: Says) -> list[Object]:
    """Return conditions with one set; its time changes only with its status."""
    type_, status, reason, message = says
    old = next((each for each in before if each["type"] == type_), None)
    since = old.get("lastTransitionTime") if old and old["status"] == status else None
    fresh: Object = {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since or present(),
    }
    return [*(each for each in before if each["type"] != type_), fresh]


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
    (made,) = with_condition((), (type_, status, reason or type_, message))
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
