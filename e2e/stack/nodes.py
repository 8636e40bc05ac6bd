"""The nodes for pods."""

from collections.abc import Iterable

from lab.sandbox.objects import Object, dig, meta, name_of
from lab.sandbox.workloads import is_ready


def schedulable(nodes: Iterable[Object]) -> list[str]:
    """Return the names of the nodes for pods that need no accelerator."""
    return sorted(
        name_of(node)
        for node in nodes
        if is_ready(node)
        and not dig(node, "spec", "unschedulable")
        and "accelerator" not in (meta(node).get("labels") or {})
    )
