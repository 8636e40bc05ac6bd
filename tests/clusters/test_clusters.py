"""Clusters as people have them: healthy ones are told nothing of, whatever they lack and do not need."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reporter.evaluation import evaluate_again
from reporter.model.instant import Instant
from reporter.model.report import Disposition
from reporter.probes.reuse import Answered
from reporter.resolution import Memory, resolve
from reporter.resolution.grace import SinglePass
from reporter.stacks.settings import FullEvaluationSettings
from tests.scenarios.world import World
from tests.yaml_files import load

NOON = Instant(datetime(2026, 11, 20, 12, tzinfo=UTC), timedelta(days=1))
SETTINGS = FullEvaluationSettings(startup_grace_seconds=0)
CLUSTERS = load(Path(__file__).parent / "clusters.yaml")
COMPOUND = load(Path(__file__).parent / "compound.yaml")
REMOVED = [
    pytest.param(name, each, cause, id=f"{name}: {each}")
    for name, cluster in CLUSTERS.items()
    for each, cause in cluster["removed"].items()
]


def world_of(name) -> World:
    """A cluster that serves its own kinds alone."""
    cluster = CLUSTERS[name]
    world = World(cluster["base"], NOON)
    world.change(cluster.get("change", {}), Instant(NOON.wall - timedelta(days=1), NOON.boot))
    suffixes = tuple(cluster["kinds"])
    world.absent = (
        {each for each in world.crds if not each.endswith(suffixes)} if suffixes else {*world.crds}
    )
    return world


def without(world: World, what: str) -> None:
    """Take an object, or a kind with its objects, away."""
    if " " in what:
        world.change({what: None}, NOON)
    else:
        world.absent |= {what}


def look(world: World, answered: Answered = Answered(), settings=SETTINGS):  # noqa: B008 - frozen
    """What a process says that saw the cluster like that before, or never."""
    snapshot = world.snapshot(NOON)
    evaluation, after = evaluate_again(snapshot, settings, answered)
    resolution = resolve(
        evaluation, snapshot, Memory(), now=NOON, settings=settings, single_pass=SinglePass(None)
    )
    return resolution.report, after


def firing(report) -> dict[str, str]:
    """What is told, with its messages."""
    found = (each for each in report.findings if each.disposition is Disposition.FIRING)
    return {each.reason: each.message for each in found}


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_healthy_cluster_has_no_finding(name):
    """Without any setting; what is there of the shared parts is ready."""
    report, _ = look(world_of(name))
    assert [each.message for each in report.findings] == []
    assert ("cluster" in map(str, (each.subject for each in report.ready))) is (name != "nothing")


@pytest.mark.parametrize("seen_before", [False, True], ids=["at once", "after it was there"])
@pytest.mark.parametrize(("name", "what", "cause"), REMOVED)
def test_what_is_needed_is_missed(name, what, cause, *, seen_before):
    """Its cause is told, it names what is gone, and nothing else is told."""
    world = world_of(name)
    answered = look(world)[1] if seen_before else Answered()
    without(world, what)
    found = firing(look(world, answered)[0])
    assert found.keys() == {cause}
    assert what.removeprefix("Deployment ") in found[cause]


@pytest.mark.parametrize(
    ("name", "what", "cause"), [each for each in REMOVED if " " in each.values[1]]
)
def test_what_is_off_is_not_missed(name, what, cause):
    """What to do names the setting, and it does what it says."""
    world = world_of(name)
    without(world, what)
    report, _ = look(world)
    (finding,) = (each for each in report.findings if each.reason == cause)
    action = SETTINGS.catalogue[cause].action + finding.message
    (part,) = {
        each
        for each in FullEvaluationSettings.known_parts()
        if f"--components {each}=off" in action
    }
    settings = FullEvaluationSettings(startup_grace_seconds=0, components={part: "off"})
    left = firing(look(world, settings=settings)[0])
    assert what.removeprefix("Deployment ") not in left.get(cause, "")


@pytest.mark.parametrize("name", COMPOUND)
def test_two_faults_at_once(name):
    """Each is told once, at its subject; nothing else is, and no other subject suffers."""
    case, world = COMPOUND[name], world_of("all six")
    world.change(case["change"], NOON)
    report, _ = look(world)
    assert {
        each.reason: str(each.subject)
        for each in report.findings
        if each.disposition is Disposition.FIRING
    } == case["fires"]
    states = {str(each.subject): each.state.name.lower() for each in report.states}
    assert {
        subject: state.replace("_", " ") for subject, state in states.items() if state != "serving"
    } == case["states"]
