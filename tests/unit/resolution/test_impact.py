"""Whom a fault of a workload namespace hits."""

from types import SimpleNamespace

from reporter.model.finding import ServingEvidence
from reporter.model.subject import ObjectRef, Subject
from reporter.resolution.impact import PassEvidence
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from tests.unit.resolution.building import namespace

NAMESPACES = [f"team-{number}" for number in range(20)]


def model(place: str, name: str = "m") -> Subject:
    return Subject(INFERENCESET_KIND, place, name)


def about(place: str, related: ObjectRef | None = None) -> SimpleNamespace:
    """What a fault of a namespace is about: itself, or a Gateway of it."""
    return SimpleNamespace(subject=Subject.of_namespace(place), related=related or namespace(place))


def evidence() -> PassEvidence:
    """Two Gateways in each namespace; a model of the first namespace comes through one of the second."""
    serving = [
        ServingEvidence(
            subject=model(place, gate), wanted=1, serving=1, entrances=frozenset({(place, gate)})
        )
        for place in NAMESPACES
        for gate in ("a", "b")
    ]
    through = frozenset({("team-1", "a")})
    serving.append(
        ServingEvidence(subject=model("team-0", "far"), wanted=1, serving=1, entrances=through)
    )
    return PassEvidence({each.subject: each for each in serving}, frozenset())


def test_a_fault_hits_those_behind_its_gateway_or_behind_all_of_its_namespace():
    """A model may come through a Gateway of another namespace."""
    found = evidence()
    gateway = ObjectRef("gateway.networking.k8s.io/v1", "Gateway", "team-1", "a")
    far = model("team-0", "far")
    assert set(found.behind(about("team-1", gateway))) == {model("team-1", "a"), far}
    assert set(found.behind(about("team-1"))) == {model("team-1", "a"), model("team-1", "b"), far}
    assert set(found.behind(about("team-0"))) == {model("team-0", "a"), model("team-0", "b")}
    assert set(found.behind(about("none"))) == set()
