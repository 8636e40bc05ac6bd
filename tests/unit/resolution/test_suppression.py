"""Rule 3, row by row of the suppression table."""

import pytest

from reporter.model.subject import Layer, Subject
from reporter.resolution.hold import OF_FAULTS
from reporter.snapshot.snapshot import UNREACHABLE
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from tests.tables import ALL, REASONS, SUPPRESSION
from tests.unit.resolution.building import (
    MODEL,
    NOON,
    Resolver,
    crd,
    finding,
    seconds,
    snapshot,
)

KAITO, PODS = "clusterKaitoControllerNotReady", "inferencesetModelPodsNotReady"
INFRA, MISSING = "inferencesetInfraProvisioningFailed", "clusterCRDMissing"
DOWNSTREAM = [
    each.name for each in REASONS if each.layer is not Layer.CLUSTER and not each.says_ready
]
TABLE: dict[tuple[str, str], set[str]] = {
    (each.name, ""): set()
    for each in REASONS
    if each.layer is Layer.CLUSTER
    and not each.says_ready
    and each.name not in (*OF_FAULTS, MISSING)
}
"""What each upstream of the cluster explains, by its reason and, of a definition, its name."""
for _row in SUPPRESSION:
    if _row.upstream not in OF_FAULTS:
        TABLE.setdefault((_row.upstream, _row.crd), set()).update(_row.downstream)


def down(reason: str, name: str = "", **fields):
    """An upstream that fires at once."""
    if name:
        fields["involved"] = crd(name)
    return finding(reason, name or "up", **{"exempt": True, "governs": True} | fields)


def told(upstream: str, name: str, reason: str):
    """What becomes of a symptom beneath an upstream, by which, and whether that one says so."""
    resolver = Resolver()
    found = resolver.look(0, down(upstream, name), finding(reason, exempt=True))
    return found[reason], resolver[reason].by, "suppressing" in resolver[upstream].message


@pytest.mark.parametrize(("upstream", "name"), TABLE)
def test_each_row(upstream, name):
    """A firing upstream suppresses its row and nothing else."""
    row = TABLE[upstream, name]
    found = {reason: told(upstream, name, reason) for reason in DOWNSTREAM}
    suppressed, alone = ("suppressed", (upstream,), True), ("firing", (), False)
    assert found == {each: suppressed if each in row else alone for each in DOWNSTREAM}


@pytest.mark.parametrize(("upstream", "name"), [key for key, row in TABLE.items() if row])
def test_the_longest_message_fits(upstream, name):
    """The suffix names the whole row and is not cut, so half of a message is left at least."""
    resolver = Resolver()
    told = (finding(each, exempt=True) for each in TABLE[upstream, name])
    resolver.look(0, down(upstream, name), *told)
    _, _, suffix = resolver[upstream].message.partition(" (suppressing")
    assert 0 < len(suffix) <= 770
    assert len(resolver[upstream].message) <= 1024


@pytest.mark.parametrize(("upstream", "name"), [key for key, row in TABLE.items() if row])
def test_degraded_suppresses_nothing(upstream, name):
    """Only a fault that keeps the status from being written holds and suppresses."""
    reason = min(TABLE[upstream, name])
    found = Resolver().look(0, down(upstream, name, governs=False), finding(reason, exempt=True))
    assert found == {upstream: "firing", reason: "firing"}


def test_the_suffix_names_the_row_and_counts_namespaces():
    """The whole row, sorted, once one of it is suppressed; each namespace counts once."""
    elsewhere = Subject(INFERENCESET_KIND, "other", "m")
    neighbour = Subject(INFERENCESET_KIND, "demo", "llama")
    resolver = Resolver()
    resolver.look(
        0,
        down(KAITO),
        *(finding(PODS, exempt=True, subject=each) for each in (MODEL, elsewhere, neighbour)),
    )
    assert resolver[KAITO].message == (
        f"{KAITO} of up (suppressing downstream reasons: {INFRA}, {PODS} in 2 namespace(s))"
    )


def test_the_suffix_counts_no_namespace_where_the_reason_is_told():
    elsewhere = Subject(INFERENCESET_KIND, "other", "m")
    own = finding(PODS, exempt=True, subject=elsewhere, independent=True)
    resolver = Resolver()
    resolver.look(0, down(KAITO), finding(PODS, exempt=True), own)
    assert resolver[KAITO].message.endswith(" in 1 namespace(s))")


def test_an_independent_fault_is_told_without_the_others():
    """Of two faults under one key the upstream explains one; the other is told alone."""
    resolver = Resolver()
    found = resolver.look(
        0,
        down(KAITO),
        finding(PODS, "never-ready", exempt=True, severity=9),
        finding(PODS, "was-ready", exempt=True, independent=True),
    )
    assert found[PODS] == "firing"
    assert resolver[PODS].message == f"{PODS} of was-ready"


def test_an_episode_begins_with_the_fault_that_an_upstream_explains():
    """That one is told in the same episode once the upstream is gone."""
    resolver = Resolver()
    explained = finding(PODS, "never-ready", exempt=True)
    resolver.look(0, down(KAITO), explained)
    resolver.look(
        10, down(KAITO), explained, finding(PODS, "was-ready", exempt=True, independent=True)
    )
    assert resolver[PODS].message == f"{PODS} of was-ready"
    assert resolver[PODS].since == NOON


def test_a_suppressed_finding_speaks_of_what_would_fire():
    resolver = Resolver()
    young = finding(PODS, "b", severity=9)
    resolver.look(0, down(KAITO), finding(PODS, "a", exempt=True), young)
    assert resolver[PODS].disposition == "suppressed"
    assert resolver[PODS].message == f"{PODS} of a"


def test_a_young_governing_fault_holds_beneath_another_that_clears():
    """The key's place is taken by what clears; its symptoms are held all the same."""
    auth, key = "clusterGatewayAuthNotReady", "modelharnessAPIKeyReconcileFailed"
    resolver = Resolver()
    service, operator = finding(auth, "authz"), finding(auth, "operator", governs=True)
    resolver.look(0, service)
    assert resolver.look(60, service) == {auth: "firing"}
    found = resolver.look(70, operator, finding(key, exempt=True))
    assert found == {auth: "clearing", key: "held"}
    found = resolver.look(130, operator, finding(key, exempt=True))
    assert found == {auth: "firing", key: "suppressed"}


def test_a_hold_that_outlasts_the_grace_is_foretold():
    resolver = Resolver()
    resolver.look(0, down(KAITO))
    resolver.look(60)
    resolver.look(61, finding(PODS), finding("inferencesetEPPNotReady"))
    fires = resolver[PODS].fires_at - resolver.report.now
    assert fires == seconds(60)
    resolver = Resolver(grace={PODS: 10})
    resolver.look(0, down(KAITO))
    resolver.look(60)
    resolver.look(61, finding(PODS))
    assert resolver[PODS].fires_at - resolver.report.now == seconds(59)


def test_a_cause_that_recovered_while_nothing_could_be_read_holds_its_symptoms():
    """After an outage of the API server a status that was not rewritten yet is not told."""
    resolver = Resolver()
    symptom = finding(PODS, exempt=True)
    resolver.look(0, down(KAITO))
    assert resolver.look(60, down(KAITO), symptom) == {KAITO: "firing", PODS: "suppressed"}
    outage = snapshot(unknown=ALL, unconfirmed=ALL, cause=UNREACHABLE)
    for at in (200, 300):
        assert resolver.look(at, seen=outage) == {KAITO: "firing", PODS: "suppressed"}
        assert resolver[KAITO].stale
    assert resolver.look(310, symptom) == {PODS: "held"}
    assert resolver.look(369, symptom) == {PODS: "held"}
    assert resolver.look(370, symptom) == {PODS: "firing"}
