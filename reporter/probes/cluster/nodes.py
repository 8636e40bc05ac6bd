"""clusterNodeNotReady: nodes that are the cause of what is on them, or waits for them.

A node that nothing of ours uses is none: nodes are judged that other findings rest on.
"""

from collections.abc import Iterable, Iterator

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.catalogue.resources import NODES
from reporter.model.finding import Finding
from reporter.model.objects import Node
from reporter.model.subject import CLUSTER
from reporter.model.text import clean
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.node import GONE, NodeFault, node_fault


def probe_nodes(snapshot: Snapshot, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield a finding for each node that others rest on and that is at fault."""
    for name in sorted({each.lost_node for each in findings if each.lost_node}):
        node = snapshot[NODES].get("", name)
        fault = node_fault(node) if node is not None else GONE
        if fault is not None and (node is not None or snapshot.absence_known(NODES, name=name)):
            yield _finding(name, node, fault)


def _finding(name: str, node: Node | None, fault: NodeFault) -> Finding:
    ref = NODES.ref(node) if node is not None else NODES.ref_named("", name)
    return Finding(
        reason=CLUSTER_NODE,
        subject=CLUSTER,
        involved=ref,
        related=ref,
        message=clean(f"{ref} {fault.text}"),
        cause=fault.cause,
        transition=fault.transition,
        created=node.created if node is not None else None,
        governs=True,
    )
