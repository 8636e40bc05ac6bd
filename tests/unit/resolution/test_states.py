"""The state of each subject by evidence, its start, and what a pass hands to the next."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from reporter.catalogue.resources import PODS as PODS_READ
from reporter.model.finding import Evaluation, KnownSubject, ServingEvidence
from reporter.model.reason import EventType
from reporter.model.report import (
    BLIND,
    Disposition,
    ServingState,
    SkippedObject,
    SubjectState,
)
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.resolution import resolve
from reporter.resolution.impact import PassEvidence, is_deployment, judge_states
from reporter.resolution.memory import Memory, Primary, Steps
from reporter.stacks.kaito.reasons import INFERENCESET_KIND, INFERENCESETS
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import rows
from tests.unit.resolution.building import (
    HARNESS,
    MODEL,
    NOON,
    START,
    Resolver,
    evidence,
    finding,
    line_of,
    namespace,
    pass_state,
    seconds,
    snapshot,
)
from tests.unit.resolution.changing import at
from tests.unit.resolution.test_mutes import holding, muted

PODS = "inferencesetModelPodsNotReady"
OTHER = MODEL._replace(name="phi")
A, B = ("demo", "a"), ("demo", "b")
WELL, DEGRADED, DOWN = ServingState.SERVING, ServingState.DEGRADED, ServingState.NOT_SERVING


def fault(
    second=0,
    disposition="firing",
    *,
    reason=PODS,
    subject=MODEL,
    type_=EventType.WARNING,
    age_known=True,
):
    """A fault that began at some second."""
    return line_of(
        finding(reason, subject=subject), type=type_, disposition=Disposition(disposition),
        since=at(second), age_known=age_known,
    )  # fmt: skip


def serves(serving=1, wanted=1, subject=MODEL, **fields):
    """How many replicas work."""
    return ServingEvidence(subject=subject, wanted=wanted, serving=serving, **fields)


class Process:
    """Judges pass after pass, and remembers what one process does."""

    def __init__(self, *subjects: Subject) -> None:
        self.subjects = tuple(map(KnownSubject, sorted(subjects or [MODEL])))
        self.states: dict[Subject, SubjectState] = {}
        self.steps = Steps()

    def look(self, second, *faults, serving=(), ready=(), hit=()):
        """Return the states at some second."""
        evaluation = Evaluation(
            (), tuple(map(evidence, ready)), self.subjects, serving=tuple(serving)
        )
        state = pass_state(
            evaluation=evaluation, now=START.after(second), memory=Memory(states=self.states),
            steps=self.steps,
        )  # fmt: skip
        found = judge_states(state, faults, PassEvidence.of(state), hit=hit, lost={})
        self.steps = Steps(state.steps.taken)
        self.states = {each.subject: each for each in found}
        return found

    def well(self, second, *faults):
        """Judge while everything works; return the start of the state."""
        return self.since(self.look(second, *faults, serving=[serves()], ready=[MODEL]), WELL)

    def degraded(self, second, *faults):
        """Judge while not everything works; return the start of the state."""
        return self.since(self.look(second, *faults, serving=[serves(1, 2)]), DEGRADED)

    def down(self, second, *faults):
        """Judge while nothing works; return the start of the state."""
        return self.since(self.look(second, *faults, serving=[serves(0)]), DOWN)

    @staticmethod
    def since(states, expected):
        """Return the start of the only subject's state, which must be as expected."""
        (state,) = states
        assert state.state is expected
        return state.since


@rows(
    ("found", "ready", "state"),
    {
        "nothing is known": (None, True, "unknown"),
        "none is wanted": (serves(0, 0), True, "idle"),
        "none works": (serves(0), True, "not-serving"),
        "none of two works": (serves(0, 2), True, "not-serving"),
        "requests do not reach it": (serves(reached=False), True, "not-serving"),
        "its Gateway is shut": (serves(entrances=frozenset({A})), True, "not-serving"),
        "another Gateway is shut": (serves(entrances=frozenset({B})), True, "serving"),
        "one of its Gateways is shut": (serves(entrances=frozenset({A, B})), True, "serving"),
        "all is well": (serves(), True, "serving"),
        "not all is well": (serves(), False, "degraded"),
        "one of two works": (serves(1, 2), True, "degraded"),
        "two of two work": (serves(2, 2), True, "serving"),
        "one more than wanted works": (serves(3, 2), True, "serving"),
    },
)
def test_the_state_of_a_model(found, ready, state):
    """By the same evidence as Ready; one Gateway of its namespace lets nothing through."""
    harness = serves(subject=HARNESS, closed=frozenset({A}))
    (judged,) = Process().look(
        0, serving=[harness, *([found] if found else [])], ready=[MODEL] if ready else []
    )
    assert judged == SubjectState(MODEL, ServingState(state))


def test_a_model_is_shut_out_where_all_its_gateways_are():
    far = ("far", "c")
    (judged,) = Process().look(
        0,
        serving=[
            serves(entrances=frozenset({A, far})),
            serves(subject=HARNESS, closed=frozenset({A})),
            serves(subject=Subject.of_namespace("far"), closed=frozenset({far})),
        ],
        ready=[MODEL],
    )
    assert judged.state is DOWN


@rows(
    ("ready", "faults", "state"),
    {
        "ready": ([CLUSTER], [], "serving"),
        "ready as a model is": ([CLUSTER, MODEL], [], "serving"),
        "only a model is ready": ([MODEL], [], "unknown"),
        "nothing is known": ([], [], "unknown"),
        "ready with a fault": ([CLUSTER], [fault(reason="clusterCRDMissing", subject=CLUSTER)], "degraded"),
        "with a fault": ([], [fault(reason="clusterCRDMissing", subject=CLUSTER)], "degraded"),
        "something cannot be read": ([CLUSTER], [fault(reason=BLIND, subject=CLUSTER)], "serving"),
        "a model has a fault": ([CLUSTER], [fault()], "serving"),
    },
)  # fmt: skip
def test_the_state_of_the_cluster(ready, faults, state):
    """The control plane as a whole is never without service."""
    (judged,) = Process(CLUSTER).look(0, *faults, ready=ready)
    assert judged.state == state


@rows(
    ("faults", "hit", "state"),
    {
        "firing": ([fault(0, "firing")], [], DEGRADED),
        "outranked": ([fault(0, "secondary")], [], DEGRADED),
        "clearing": ([fault(0, "clearing")], [], DEGRADED),
        "muted": ([fault(0, "muted")], [], DEGRADED),
        "in its grace": ([fault(0, "pending")], [], WELL),
        "held": ([fault(0, "held")], [], WELL),
        "suppressed": ([fault(0, "suppressed")], [], WELL),
        "the second of two is suppressed": ([fault(), fault(0, "suppressed")], [], DEGRADED),
        "the first of two is suppressed": ([fault(0, "suppressed"), fault()], [], DEGRADED),
        "no fault": ([fault(type_=EventType.NORMAL)], [], WELL),
        "of another": ([fault(subject=OTHER)], [], WELL),
        "it rests on what is at fault": ([], [MODEL], DEGRADED),
        "another rests on what is at fault": ([], [OTHER], WELL),
    },
)
def test_what_serves_with_a_fault_is_degraded(faults, hit, state):
    (judged,) = Process().look(0, *faults, serving=[serves()], ready=[MODEL], hit=hit)
    assert judged.state is state


@rows(
    ("faults", "since"),
    {
        "none": ([], None),
        "one": ([fault(-50)], -50),
        "the first of two": ([fault(-50), fault(-70)], -70),
        "not one of unknown age": ([fault(-50), fault(-70, age_known=False)], -50),
        "of unknown age alone": ([fault(-50, age_known=False)], None),
        "what is suppressed too": ([fault(-50, "suppressed")], -50),
        "what is suppressed first": ([fault(-50), fault(-70, "suppressed")], -70),
        "nothing in its grace": ([fault(-50), fault(-70, "pending")], -50),
        "nothing that is held": ([fault(-50), fault(-70, "held")], -50),
        "nothing that is no fault": ([fault(-50), fault(-70, type_=EventType.NORMAL)], -50),
        "nothing that cannot be read": ([fault(-50), fault(-70, reason=BLIND)], -50),
        "nothing of another": ([fault(-50), fault(-70, subject=OTHER)], -50),
    },
)
def test_what_is_found_broken_is_so_since_its_first_fault(faults, since):
    assert Process().down(0, *faults) == (None if since is None else at(since))


def test_a_state_that_is_found_well_has_no_beginning():
    process = Process()
    assert process.well(0) is None
    assert process.well(10, fault(5, "suppressed")) is None


@rows(
    ("seconds", "since"),
    {
        "without a fault": ([], 60),
        "with its fault": ([40], 40),
        "with the first of its faults": ([40, 30], 30),
        "with a fault as old as the state before": ([10, 40], 10),
        "not with one that is older": ([9, 40], 40),
        "with an older one alone": ([9], 60),
    },
)
def test_a_state_begins_with_the_fault_that_came_since_the_one_before(seconds, since):
    """Or when it was seen: the subject works, breaks at 5, works at 10, and is broken at 60."""
    process = Process()
    process.well(0)
    process.down(5)
    assert process.well(10) == at(10)
    assert process.down(60, *map(fault, seconds)) == at(since)


def test_a_state_that_follows_one_of_unknown_age_begins_with_any_fault():
    process = Process()
    assert process.well(0) is None
    assert process.down(60, fault(-90)) == at(-90)


@pytest.mark.parametrize("faults", [[], [fault(40, "suppressed")]], ids=["none", "one"])
def test_what_works_again_does_so_since_now(faults):
    process = Process()
    process.down(0, fault(-50))
    assert process.well(60, *faults) == at(60)
    assert process.well(90, *faults) == at(60)


def test_what_gets_worse_is_so_since_then():
    """It is a new state, though both are impaired."""
    process = Process()
    assert process.degraded(0, fault(-50)) == at(-50)
    assert process.down(60) == at(60)
    assert process.degraded(90, fault(80)) == at(80)


def test_a_state_that_stays_keeps_its_beginning():
    process = Process()
    process.down(0, fault(-50))
    assert process.down(60, fault(-90)) == at(-50)
    assert process.down(90) == at(-50)


def test_a_beginning_that_comes_to_light_is_told():
    """A fault of unknown age, or one in its grace, may date it later, even next to a known one."""
    process = Process(MODEL, OTHER)
    serving = [serves(0), serves(0, subject=OTHER)]
    for second in (0, 30, 60):
        other, one = process.look(
            second, fault(age_known=False), fault(-70, subject=OTHER), serving=serving
        )
        assert (one.subject, one.since, other.since) == (MODEL, None, at(-70))
    _, one = process.look(90, fault(), fault(-70, subject=OTHER), serving=serving)
    assert one.since == at(0)


@pytest.mark.parametrize(
    ("serving", "faults"), [(1, []), (0, [fault()])], ids=["well", "broken since some time"]
)
def test_what_stays_as_it_is_is_not_judged_again(serving, faults):
    """There are thousands of subjects, and most passes change none."""
    process = Process()
    _, second, third = (
        process.look(at_second, *faults, serving=[serves(serving)], ready=[MODEL])
        for at_second in (0, 30, 60)
    )
    assert second is third


@pytest.mark.parametrize(
    ("subject", "answer"), [(MODEL, True), (HARNESS, False), (CLUSTER, False)], ids=str
)
def test_what_is_the_deployment_of_a_model(subject, answer):
    assert is_deployment(subject) is answer


SETTINGS = FullEvaluationSettings()


def known(age):
    return (KnownSubject(CLUSTER), *(KnownSubject(each, NOON - age) for each in (HARNESS, MODEL)))


def test_what_is_broken_at_the_first_look_is_so_since_its_fault_began():
    """It is unknown while the fault is in its grace; the firing fault dates it."""
    memory, told = Memory(), []
    serving = (ServingEvidence(subject=MODEL, wanted=1, serving=0),)
    for second in (0, 30, 61, 120):
        seen = Evaluation((finding(PODS),), (), known(seconds(7200)), serving=serving)
        done = resolve(seen, snapshot(), memory, now=START.after(second), settings=SETTINGS)
        memory = done.memory
        told += [each.since for each in done.report.states if each.subject == MODEL]
    assert told == [None, None, NOON, NOON]


def test_the_subjects_of_a_report_are_in_order():
    """However they were found, with malformed ones in their place among the others."""
    models = [Subject(MODEL.kind, "demo", f"m-{n}") for n in range(10)]
    others = [KnownSubject(each) for each in reversed(models) if each.name != "m-4"]
    skipped = (SkippedObject(str(INFERENCESETS), "demo", "m-4", "spec is missing"),)
    seen = Evaluation((), (), (*others, KnownSubject(HARNESS), KnownSubject(CLUSTER)))
    found = replace(snapshot(), skipped=skipped)
    done = resolve(seen, found, Memory(), now=START, settings=SETTINGS)
    assert done.report.subjects == (CLUSTER, *models, HARNESS)


NAMESPACES = [f"team-{number}" for number in range(20)]


def model(place: str, name: str = "m") -> Subject:
    return Subject(INFERENCESET_KIND, place, name)


def about(place: str, related: ObjectRef | None = None) -> SimpleNamespace:
    """What a fault of a namespace is about: itself, or a Gateway of it."""
    return SimpleNamespace(subject=Subject.of_namespace(place), related=related or namespace(place))


def two_gateways() -> PassEvidence:
    """Two Gateways in each namespace; a model of the first namespace uses one of the second."""
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
    """A model may be reached through a Gateway of another namespace."""
    found = two_gateways()
    gateway = ObjectRef("gateway.networking.k8s.io/v1", "Gateway", "team-1", "a")
    far = model("team-0", "far")
    assert set(found.behind(about("team-1", gateway))) == {model("team-1", "a"), far}
    assert set(found.behind(about("team-1"))) == {model("team-1", "a"), model("team-1", "b"), far}
    assert set(found.behind(about("team-0"))) == {model("team-0", "a"), model("team-0", "b")}
    assert set(found.behind(about("none"))) == set()


def passes(*given):
    """The results of each pass, and how often the step ran."""
    steps, made, found = Steps(), [], []
    for each in given:
        steps = Steps(steps.taken)

        def step(each=each):
            made.append(each)
            return each * 2

        found.append(steps.take("double", (each,), step))
    return found, made


def test_a_step_is_taken_once_for_as_long_as_it_is_given_the_same():
    assert passes(1, 1, 1, 2, 2) == ([2, 2, 2, 4, 4], [1, 2])


def test_what_is_given_again_after_something_else_is_taken_again():
    assert passes(1, 2, 1) == ([2, 4, 2], [1, 2, 1])


def test_what_does_not_last_is_taken_again():
    first = Steps()
    assert first.take("clock", (1,), lambda: 5, lasts=lambda _: False) == 5
    assert Steps(first.taken).take("clock", (1,), lambda: 6) == 6


KAITO = "clusterKaitoControllerNotReady"


def test_a_pass_hands_on_what_it_decided():
    """Ready and reported subjects, mutes, states, possible changes, and the primary cause."""
    resolver = Resolver(created=NOON - seconds(60))
    fault = finding(KAITO, exempt=True)
    resolver.look(0, fault, ready=[evidence(MODEL)])
    recorded = snapshot(events=resolver.events())
    seen = replace(recorded, tables={**recorded.tables, **holding(muted()).tables})
    for second in (1, 2):
        resolver.look(second, fault, ready=[evidence(MODEL)], seen=seen)
    memory, report = resolver.memory, resolver.report
    assert list(memory.answered) == [MODEL]
    assert list(memory.cached_ready) == [MODEL]
    assert [each.object.name for each in memory.mutes] == ["demo"]
    assert memory.states == {each.subject: each for each in report.states}
    assert memory.changes.at == report.now
    assert memory.primaries == {CLUSTER: Primary(fault.key)}


@pytest.mark.parametrize(
    ("passes", "since"),
    [
        pytest.param([snapshot()], 0, id="all could be seen"),
        pytest.param([snapshot(), snapshot(unknown=[PODS_READ])], 0, id="first all, then less"),
        pytest.param([snapshot(unknown=[PODS_READ])], -40, id="could not be read"),
        pytest.param([snapshot(unconfirmed=[PODS_READ])], -40, id="was not confirmed"),
        pytest.param([], -40, id="no pass"),
    ],
)
def test_a_pass_hands_on_of_which_reasons_it_saw_no_fault(passes, since):
    """A fault of a young object is as old as the object, unless it was seen without it."""
    resolver = Resolver()
    for number, seen in enumerate(passes):
        resolver.look(number - 10, seen=seen)
    resolver.look(0, finding(PODS, created=NOON - seconds(40), budget=seconds(60)))
    assert resolver[PODS].since == NOON + seconds(since)
