"""Rule 4: what a mute does to an episode that has begun before."""

from reporter.catalogue import resources as r
from reporter.model.objects import MUTE
from tests.unit.resolution.building import NOON, Resolver, finding, seconds
from tests.unit.resolution.test_mutes import holding, obj

PODS, KAITO = "inferencesetModelPodsNotReady", "clusterKaitoControllerNotReady"


def mutes(*names):
    """A snapshot in which pods of these names carry a mute."""
    return holding(*((r.PODS, obj(r.PODS, name, "demo", **{MUTE: PODS})) for name in names))


def test_a_muted_episode_keeps_its_start():
    """Also when the muted fault that began it is gone, and another muted one is left."""
    resolver = Resolver()
    first, second = finding(PODS, "a", exempt=True), finding(PODS, "b", exempt=True)
    resolver.look(0, first, seen=mutes("a", "b"))
    resolver.look(10, first, second, seen=mutes("a", "b"))
    assert resolver.look(100, second, seen=mutes("a", "b")) == {PODS: "muted"}
    assert resolver[PODS].since == NOON


def test_a_mute_of_a_part_leaves_the_start_of_what_is_told():
    """The Event that is there goes on, about the other fault."""
    resolver = Resolver()
    first, second = finding(PODS, "a", exempt=True), finding(PODS, "b", exempt=True)
    resolver.look(0, first)
    resolver.look(10, first, second)
    assert resolver.look(20, first, second, seen=mutes("a")) == {PODS: "firing"}
    assert resolver[PODS].since == NOON
    assert resolver[PODS].message == f"{PODS} of b"


def test_a_muted_episode_beside_what_an_upstream_explains_keeps_its_start():
    """What is told is only the fault that the upstream does not explain, and that is muted."""
    resolver = Resolver()
    explained = finding(PODS, "a", exempt=True)
    own = finding(PODS, "b", exempt=True, independent=True)
    upstream = finding(KAITO, exempt=True, governs=True)
    resolver.look(0, explained, seen=mutes("a", "b"))
    for at in (10, 20):
        found = resolver.look(at, explained, own, upstream, seen=mutes("a", "b"))
        assert found == {KAITO: "firing", PODS: "muted"}
        assert resolver[PODS].since == NOON
    assert resolver.report.now == NOON + seconds(20)
