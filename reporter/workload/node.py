"""Faults of nodes, and whether an unschedulable pod waits for a node at fault."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from reporter.diagnosis.devices import other_names
from reporter.diagnosis.fit import PRESSURES
from reporter.model.objects import Node
from reporter.model.text import detail
from reporter.snapshot.table import Table

_DETAIL_BYTES: Final = 200
_SAME_SYNC: Final = timedelta(seconds=1)
_INSUFFICIENT: Final = re.compile(
    r"Insufficient ([a-z0-9.-]{1,253}/[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)"
)
_OF_STATE: Final = re.compile(
    r"(?<!\d)\d++ (?:node\(s\) were unschedulable|Insufficient [^,\s]+"
    r"|node\(s\) had untolerated taint(?:\(s\)| \{node\.kubernetes\.io/[^}]*\}))[,.]?"
)
"""The scheduler's words about the state of nodes, as opposed to the pod's own requirements."""

_UNNAMED_TAINTS: Final = re.compile(r"(?<!\d)(\d{1,9}+) node\(s\) had untolerated taint\(s\)")
"""The words of kube-scheduler 1.36, which no longer names taints (plugin TaintToleration)."""

_TAINT: Final = "node.kubernetes.io/"
_LOST_SIGNS: Final = (f"{_TAINT}unreachable", f"{_TAINT}not-ready")


@dataclass(frozen=True, slots=True)
class NodeFault:
    """Why pods on a node do not work, or cannot be scheduled there.

    `cause` is a few words, such as `not answering`; `text` follows the node's name in the message.
    `signs` are the scheduler's words about pods that it does not place there because of the fault.
    `lacking` is the extended resource for which the node has no devices.
    """

    cause: str
    text: str
    transition: datetime | None = None
    signs: tuple[str, ...] = ()
    lacking: str = ""


def node_fault(node: Node) -> NodeFault | None:
    """Return the worst fault of a node, or None; a node that was never Ready is still starting."""
    return next(node_faults(node), None)


def node_faults(node: Node) -> Iterator[NodeFault]:
    """Yield the faults of a node, the worst first."""
    ready = node.status.condition("Ready")
    if ready is not None and ready.status != "True":
        if not _never_ready(node):
            state = "not answering" if ready.status == "Unknown" else "NotReady"
            why = detail(ready.reason, ready.message, _DETAIL_BYTES)
            text = f"is {state}" + (f" ({why})" if why else "")
            yield NodeFault(state, text, ready.last_transition_time, _LOST_SIGNS)
        return
    for name in PRESSURES:
        if pressure := node.status.condition(name, "True"):
            sign = _TAINT + name.removesuffix("Pressure").lower() + "-pressure"
            text = f"is under {name}: it evicts pods and takes no more"
            yield NodeFault(name, text, pressure.last_transition_time, (sign,))
    if node.spec.unschedulable:
        text = "is cordoned, and pods wait for it"
        yield NodeFault("cordoned", text, signs=("node(s) were unschedulable",))
    for name, count in sorted(node.status.devices.items()):
        if not count and not other_names([node], name):
            text = f"has no allocatable {name}: its device plugin is away or its devices failed"
            yield NodeFault(f"no {name}", text, signs=(f"Insufficient {name}",), lacking=name)


GONE: Final = NodeFault("gone", "is gone")
"""The fault of a node that no longer exists."""


def waited_for(message: str | None, nodes: Table[Node] | None) -> str:
    """Return the node that a pod waits for, from the scheduler's message, or an empty string.

    The scheduler names no nodes. It says why it rejected them, for each node only the first reason
    in this order: cordon, taints, labels, resources (kube-scheduler, plugins NodeUnschedulable,
    TaintToleration, NodeAffinity, NodeResourcesFit). So if the message names a taint or a label, a
    cordoned node may have the same one and be of no use to the pod. It is of use if it has what the
    pod lacks on others, or if it is the only one and there is no other reason. Unnamed taints are
    those of node states if there are as many of them as nodes in such states.
    """
    if nodes is None or not message:
        return ""
    unnamed = _UNNAMED_TAINTS.search(message)
    if unnamed is not None and int(unnamed[1]) != sum(map(_is_tainted, nodes)):
        return ""
    if not _waits_for_state(message):
        return ""
    lacks = frozenset(_INSUFFICIENT.findall(message))
    waited = {
        node.name
        for node in nodes
        for fault in node_faults(node)
        if any(sign in message for sign in fault.signs)
        or (unnamed is not None and _is_tainted(node) and fault.signs[0].startswith(_TAINT))
        if all(node.status.devices.get(each) for each in lacks - {fault.lacking})
    }
    if lacks:
        return min(waited, default="")
    return waited.pop() if len(waited) == 1 and "Insufficient" not in message else ""


def _waits_for_state(message: str) -> bool:
    """Tell whether the scheduler names nothing but states of nodes, and resources that ran out."""
    reasons = message.partition(" preemption:")[0].partition("nodes are available:")[2]
    # After the reasons, which end with a full stop, plugins say what they tried (kube-scheduler,
    # FitError.Error): in 1.36 "no new claims to deallocate", of any pod.
    return not _OF_STATE.sub("", reasons.partition(". ")[0]).strip()


def _is_tainted(node: Node) -> bool:
    """Tell whether a taint keeps pods from it; a cordoned node is reported as cordoned."""
    ready = node.status.condition("Ready")
    return not node.spec.unschedulable and (
        (ready is not None and ready.status != "True")
        or any(node.status.condition(each, "True") for each in PRESSURES)
    )


def _never_ready(node: Node) -> bool:
    """Tell whether Ready has not changed since the node registered itself."""
    ready = node.status.condition("Ready", "False")
    if ready is None or ready.last_transition_time is None or node.created is None:
        return False
    return ready.last_transition_time - node.created <= _SAME_SYNC
