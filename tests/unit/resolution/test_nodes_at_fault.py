"""The nodes at fault that a finding's faults rest on."""

from reporter.catalogue.reasons import CLUSTER_NODE
from tests.unit.resolution.building import Resolver, finding

PODS = "inferencesetModelPodsNotReady"


def test_nodes_are_named_once_in_order():
    """Several pods on several lost nodes, one on none: the report names each node once, sorted."""
    lost = [
        "node-h",
        "node-c",
        "node-f",
        "node-a",
        "node-g",
        "node-b",
        "node-e",
        "node-d",
        "node-c",
        "",
    ]
    resolver = Resolver()
    resolver.look(0, *(finding(PODS, f"pod-{n}", lost_node=node) for n, node in enumerate(lost)))
    assert resolver[PODS].rests_on == tuple(
        (CLUSTER_NODE, f"node-{letter}") for letter in "abcdefgh"
    )
