"""A fault of a pod that cannot be judged neither begins nor ends."""

from reporter.catalogue.resources import PODS
from reporter.model.finding import Evaluation
from reporter.model.subject import ObjectRef
from reporter.resolution import Memory, resolve
from tests.tables import of_inferencesets as t
from tests.unit.resolution.building import MODEL, START, Resolver, crd, finding, snapshot


def pod(uid="a", name="p-0"):
    return ObjectRef("v1", "Pod", "demo", name, uid)


def fault(uid="a", name="p-0", reason=t.KV_CACHE):
    return finding(reason, name, exempt=True, related=pod(uid, name))


class Undecided(Resolver):
    """A resolver for pods that may be in doubt."""

    def doubt(self, at, *findings, pods=(), reasons=(t.KV_CACHE,), events=()):
        """Resolve while reasons of some pods cannot be judged."""
        undecided = dict.fromkeys(pods, frozenset(reasons))
        evaluation = Evaluation(findings, (), tuple(self.subjects), undecided)
        seen = snapshot(events=events)
        done = resolve(evaluation, seen, self.memory, now=START.after(at), settings=self.settings)
        self.memory, self.report = done.memory, done.report
        return {each.reason: str(each.disposition) for each in self.report.findings}


def test_what_fires_goes_on_with_its_words():
    resolver = Undecided()
    resolver.look(0, fault())
    before = resolver[t.KV_CACHE]
    for at in range(15, 900, 15):
        assert resolver.doubt(at, pods=[pod()]) == {t.KV_CACHE: "firing"}
    assert (resolver[t.KV_CACHE].message, resolver[t.KV_CACHE].since) == (
        before.message,
        before.since,
    )


def test_it_clears_once_it_can_be_judged():
    resolver = Undecided()
    resolver.look(0, fault())
    resolver.doubt(300, pods=[pod()])
    assert resolver.look(315) == {t.KV_CACHE: "clearing"}
    assert resolver.look(376) == {}


def test_what_was_never_told_does_not_begin():
    """Nor where another pod's fault of the same reason begins to be told meanwhile."""
    resolver = Undecided()
    blind = snapshot(unconfirmed=[PODS])
    resolver.look(0, fault("b", "p-1"), seen=blind)
    for at in (10, 20):
        assert resolver.doubt(at, fault(), pods=[pod("b", "p-1")]) == {t.KV_CACHE: "firing"}
        assert resolver[t.KV_CACHE].message == f"{t.KV_CACHE} of p-0"


def test_what_is_clearing_goes_on():
    resolver = Undecided()
    resolver.look(0, fault())
    resolver.look(15)
    assert resolver.doubt(30, pods=[pod()]) == {t.KV_CACHE: "firing"}


def test_what_is_suppressed_does_not_go_on():
    resolver = Undecided()
    name = crd("inferencesets.kaito.sh")
    missing = finding("clusterCRDMissing", exempt=True, governs=True, involved=name)
    resolver.look(0, fault())
    found = resolver.look(10, fault(), missing)
    assert found == {"clusterCRDMissing": "firing", t.KV_CACHE: "suppressed"}
    assert resolver.doubt(20, missing, pods=[pod()]) == {"clusterCRDMissing": "firing"}


def test_only_the_reason_that_is_in_doubt():
    resolver = Undecided()
    resolver.look(0, fault(), fault(reason=t.OUTPUT_CORRUPTED))
    found = resolver.doubt(15, pods=[pod()], reasons=[t.OUTPUT_CORRUPTED])
    assert found == {t.KV_CACHE: "clearing", t.OUTPUT_CORRUPTED: "firing"}


def test_only_the_pod_that_is_in_doubt():
    """The other of two pods is well again: it is not counted any more."""
    resolver = Undecided()
    resolver.look(0, fault(name="p-0"), fault("b", "p-1"))
    assert resolver[t.KV_CACHE].message.endswith("(and 1 more)")
    resolver.doubt(15, pods=[pod("b", "p-1")])
    assert resolver[t.KV_CACHE].message == f"{t.KV_CACHE} of p-1"


def test_another_pod_of_that_name_goes_on_with_nothing():
    resolver = Undecided()
    resolver.look(0, fault("a"))
    assert resolver.doubt(15, pods=[pod("b")]) == {t.KV_CACHE: "clearing"}


def test_a_fault_beside_one_in_doubt_is_counted():
    resolver = Undecided()
    resolver.look(0, fault(name="p-0"))
    resolver.doubt(15, fault("b", "p-1"), pods=[pod()])
    assert resolver[t.KV_CACHE].message == f"{t.KV_CACHE} of p-0 (and 1 more)"


def test_a_restart_of_the_daemon_does_not_end_the_episode():
    """Its window is not full yet, and the Event on record says that it fires."""
    first = Undecided()
    first.look(0, fault())
    since = first[t.KV_CACHE].since
    second = Undecided()
    assert second.memory == Memory()
    for at in range(15, 300, 15):
        found = second.doubt(at, pods=[pod()], events=first.events())
        assert found == {t.KV_CACHE: "firing"}
    assert second[t.KV_CACHE].since == since
    assert second[t.KV_CACHE].subject == MODEL
    third = Undecided()
    third.doubt(15, pods=[pod()], events=first.events())
    assert third.look(30, fault(), seen=snapshot(events=first.events())) == {t.KV_CACHE: "firing"}
    assert third[t.KV_CACHE].since == since
