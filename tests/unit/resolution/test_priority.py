"""Rule 5: which of several faults is written."""

from itertools import combinations

import pytest

from reporter.catalogue.reasons import CLUSTER_NODE
from reporter.catalogue.resources import NODES
from reporter.model.finding import Evaluation
from reporter.model.report import Disposition
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer, ObjectRef
from reporter.resolution.memory import Memory
from reporter.resolution.priority import outrank
from reporter.resolution.records import Records
from reporter.resolution.state import Candidate, PassState
from reporter.setting_types import Emit
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import BY_NAME, REASONS
from tests.unit.resolution.building import START, Resolver, crd, finding, snapshot
from tests.unit.resolution.test_mute import mutes

KINDS = {
    Layer.CLUSTER: CLUSTER_KIND,
    Layer.HARNESS: NAMESPACE_KIND,
    Layer.DEPLOYMENT: INFERENCESET_KIND,
}
INFRA, PODS, EPP = (
    "inferencesetInfraProvisioningFailed",
    "inferencesetModelPodsNotReady",
    "inferencesetEPPNotReady",
)
CHAINS = {
    layer: [each.name for each in REASONS if each.subject_kind == kind and each.chain]
    for layer, kind in KINDS.items()
}
BLIND = "clusterStatusUnknown"
OUTSIDE = [
    each.name
    for each in REASONS
    if not each.chain
    and not each.says_ready
    and each.subject_kind in KINDS.values()
    and each.name != BLIND
]


def at_once(reason: str, **fields):
    return finding(reason, exempt=True, **fields)


@pytest.mark.parametrize("emit", list(Emit))
@pytest.mark.parametrize("layer", CHAINS)
def test_each_pair_of_a_chain(layer, emit):
    """The higher one fires, is primary and names the lower; in the cluster both are causes."""
    both = emit is Emit.FIRING or (emit is Emit.CAUSES and layer is Layer.CLUSTER)
    for higher, lower in combinations(CHAINS[layer], 2):
        resolver = Resolver(emit=emit)
        found = resolver.look(0, at_once(lower), at_once(higher))
        assert found == {higher: "firing", lower: "firing" if both else "secondary"}
        assert resolver[higher].primary, lower
        assert not resolver[lower].primary, higher
        assert resolver[lower].by == (() if both else (higher,))
        also = "" if both else f" (also: {lower}: cause of x)"
        assert resolver[higher].message == f"{higher} of x{also}"


@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize("emit", list(Emit))
def test_outside_the_chain(outside, emit):
    """What stands outside the chain is told beside it, unless strictly one is asked for."""
    resolver = Resolver(emit=emit)
    found = resolver.look(0, at_once("inferencesetEPPNotReady"), at_once(outside))
    assert found["inferencesetEPPNotReady"] == "firing"
    assert found[outside] == ("secondary" if emit is Emit.PRIMARY else "firing")
    assert not resolver[outside].primary


@pytest.mark.parametrize("emit", list(Emit))
@pytest.mark.parametrize("beside", [(), ("clusterKnativeNotReady",), ("inferencesetEPPNotReady",)])
def test_what_the_reporter_cannot_see_is_no_cause(emit, beside):
    """It is told, never primary, never first, and neither outranks a cause nor is outranked by one."""
    resolver = Resolver(emit=emit)
    found = resolver.look(0, at_once(BLIND), *map(at_once, beside))
    assert found == dict.fromkeys((BLIND, *beside), "firing")
    assert not resolver[BLIND].primary
    assert all(resolver[each].primary for each in beside)
    assert resolver.report.findings[-1].reason == BLIND


@pytest.mark.parametrize("emit", list(Emit))
def test_strictly_one_while_another_clears(emit):
    """Under `primary` what is clearing keeps its place; nothing lower is written beside it."""
    resolver = Resolver(emit=emit)
    pods, outside = at_once("inferencesetModelPodsNotReady"), at_once(OUTSIDE[0])
    resolver.look(0, pods, outside)
    found = resolver.look(10, outside)
    assert found["inferencesetModelPodsNotReady"] == "clearing"
    assert found[OUTSIDE[0]] == ("secondary" if emit is Emit.PRIMARY else "firing")


def test_the_one_under_primary_is_one_of_several_crds():
    """Of two findings of one reason the first by name is written."""
    resolver = Resolver(emit=Emit.PRIMARY)
    resolver.look(
        0,
        at_once("clusterCRDMissing", involved=crd("b")),
        at_once("clusterCRDMissing", involved=crd("a")),
    )
    shown = [(each.involved.name, str(each.disposition)) for each in resolver.report.findings]
    assert shown == [("a", "firing"), ("b", "secondary")]


def test_what_waits_and_cannot_be_read_any_more_outranks_nothing():
    resolver = Resolver()
    resolver.look(0, finding(PODS))
    found = resolver.look(10, at_once(EPP), seen=snapshot(unknown=[NODES]))
    assert found == {PODS: "pending", EPP: "firing"}


def test_a_secondary_fault_that_is_gone_outranks_nothing():
    resolver = Resolver()
    resolver.look(0, at_once(INFRA), at_once(PODS))
    resolver.look(30, at_once(PODS))
    assert resolver.look(70, at_once(EPP)) == {EPP: "firing"}


def test_a_muted_fault_that_is_gone_outranks_nothing():
    resolver = Resolver()
    both = {PODS: "muted", EPP: "firing"}
    assert resolver.look(0, at_once(PODS), finding(EPP, "y", exempt=True), seen=mutes("x")) == both
    assert resolver.look(1, finding(EPP, "y", exempt=True), seen=mutes("x")) == both


@pytest.mark.parametrize(
    ("first", "then", "found"),
    [
        (at_once(EPP), at_once(EPP), "firing"),
        (at_once(EPP), None, "firing"),
        (finding(EPP), finding(EPP), "secondary"),
    ],
    ids=["fires", "was clearing", "was in its grace"],
)
def test_what_a_node_holds_takes_back_only_what_was_not_told(first, then, found):
    """While the node is in its grace nobody knows yet whether it explains the pods."""
    resolver = Resolver()
    resolver.look(0, first)
    resolver.look(50, *filter(None, [then]))
    node = ObjectRef("v1", "Node", "", "n-1")
    lost = finding(CLUSTER_NODE, involved=node, related=node, governs=True)
    on_it = finding(PODS, "p-0", exempt=True, lost_node="n-1")
    assert resolver.look(60 if then else 55, first, on_it, lost) == {
        CLUSTER_NODE: "pending",
        PODS: "held",
        EPP: found,
    }


def test_what_the_reporter_cannot_see_has_its_grace():
    assert Resolver().look(0, finding(BLIND)) == {BLIND: "pending"}


def test_what_a_node_explains_of_a_namespace_outranks_nothing():
    """That is for models only: of a namespace the next fault is told."""
    node = ObjectRef("v1", "Node", "", "node-a")
    plane, policy = "modelharnessGatewayDataPlaneNotReady", "modelharnessNetworkPolicyMisconfigured"
    found = Resolver().look(
        0,
        at_once(CLUSTER_NODE, involved=node, related=node, governs=True),
        at_once(plane, lost_node="node-a"),
        at_once(policy),
    )
    assert found == {CLUSTER_NODE: "firing", plane: "suppressed", policy: "firing"}


@pytest.mark.parametrize("reason", [BLIND, EPP])
def test_what_fires_is_decided_here(reason):
    state = PassState(
        evaluation=Evaluation((), (), ()),
        snapshot=snapshot(),
        now=START,
        settings=FullEvaluationSettings(emit=Emit.FIRING),
        one_look=None,
        memory=Memory(),
        records=Records(),
        candidates=(Candidate(finding(reason).key, BY_NAME[reason], (), None),),
    )
    assert [each.disposition for each in outrank(state).candidates] == [Disposition.FIRING]
