"""The state of each subject by the evidence of a pass, and since when it is in it."""

import pytest

from reporter.model.finding import Evaluation, KnownSubject, ServingEvidence
from reporter.model.reason import EventType
from reporter.model.report import BLIND, Disposition, ResolvedFinding, ServingState, SubjectState
from reporter.model.subject import CLUSTER, Subject
from reporter.resolution.impact import PassEvidence, is_deployment, judge_states
from reporter.resolution.memory import Memory, Steps
from reporter.resolution.records import Records
from reporter.resolution.state import PassState
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks import BUILT_IN
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.resolution.building import HARNESS, MODEL, START, evidence, namespace
from tests.unit.resolution.changing import at

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
    row, place = BUILT_IN[reason], namespace("demo")
    return ResolvedFinding(
        reason=reason, layer=row.layer, type=type_, subject=subject, involved=place, related=place,
        disposition=Disposition(disposition), message="", cause="", since=at(second), age_known=age_known,
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
        state = PassState(
            evaluation=Evaluation(
                (), tuple(map(evidence, ready)), self.subjects, serving=tuple(serving)
            ),
            snapshot=Snapshot(),
            now=START.after(second),
            settings=FullEvaluationSettings(),
            one_look=None,
            memory=Memory(states=self.states),
            records=Records(),
            steps=self.steps,
        )
        found = judge_states(state, faults, PassEvidence.of(state), hit=hit, lost={})
        self.steps = Steps(state.steps.taken)
        self.states = {each.subject: each for each in found}
        return found

    def well(self, second, *faults):
        """Judge while everything works; return since when."""
        return self.since(self.look(second, *faults, serving=[serves()], ready=[MODEL]), WELL)

    def degraded(self, second, *faults):
        """Judge while not all works; return since when."""
        return self.since(self.look(second, *faults, serving=[serves(1, 2)]), DEGRADED)

    def down(self, second, *faults):
        """Judge while nothing works; return since when."""
        return self.since(self.look(second, *faults, serving=[serves(0)]), DOWN)

    @staticmethod
    def since(states, expected):
        """Return since when the only subject is in the state that is expected."""
        (state,) = states
        assert state.state is expected
        return state.since


@pytest.mark.parametrize(
    ("found", "ready", "state"),
    [
        (None, True, "unknown"),
        (serves(0, 0), True, "idle"),
        (serves(0), True, "not-serving"),
        (serves(0, 2), True, "not-serving"),
        (serves(reached=False), True, "not-serving"),
        (serves(entrances=frozenset({A})), True, "not-serving"),
        (serves(entrances=frozenset({B})), True, "serving"),
        (serves(entrances=frozenset({A, B})), True, "serving"),
        (serves(), True, "serving"),
        (serves(), False, "degraded"),
        (serves(1, 2), True, "degraded"),
        (serves(2, 2), True, "serving"),
        (serves(3, 2), True, "serving"),
    ],
    ids=[
        "nothing is known",
        "none is wanted",
        "none works",
        "none of two works",
        "requests do not reach it",
        "its Gateway is shut",
        "another Gateway is shut",
        "one of its Gateways is shut",
        "all is well",
        "not all is well",
        "one of two works",
        "two of two work",
        "one more than wanted works",
    ],
)
def test_the_state_of_a_model(found, ready, state):
    """By what its Ready rests on; one Gateway of its namespace lets nothing through."""
    harness = serves(subject=HARNESS, closed=frozenset({A}))
    (judged,) = Process().look(
        0, serving=[harness, *([found] if found else [])], ready=[MODEL] if ready else []
    )
    assert judged == SubjectState(MODEL, ServingState(state))


def test_a_model_is_shut_out_where_all_its_gateways_are():
    """Of whatever namespaces they are."""
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


@pytest.mark.parametrize(
    ("ready", "faults", "state"),
    [
        ([CLUSTER], [], "serving"),
        ([CLUSTER, MODEL], [], "serving"),
        ([MODEL], [], "unknown"),
        ([], [], "unknown"),
        ([CLUSTER], [fault(reason="clusterCRDMissing", subject=CLUSTER)], "degraded"),
        ([], [fault(reason="clusterCRDMissing", subject=CLUSTER)], "degraded"),
        ([CLUSTER], [fault(reason=BLIND, subject=CLUSTER)], "serving"),
        ([CLUSTER], [fault()], "serving"),
    ],
    ids=[
        "ready",
        "ready as a model is",
        "only a model is ready",
        "nothing is known",
        "ready with a fault",
        "with a fault",
        "something cannot be read",
        "a model has a fault",
    ],
)
def test_the_state_of_the_cluster(ready, faults, state):
    """The control plane as a whole is never without service."""
    (judged,) = Process(CLUSTER).look(0, *faults, ready=ready)
    assert judged.state == state


@pytest.mark.parametrize(
    ("faults", "hit", "state"),
    [
        ([fault(0, "firing")], [], DEGRADED),
        ([fault(0, "secondary")], [], DEGRADED),
        ([fault(0, "clearing")], [], DEGRADED),
        ([fault(0, "muted")], [], DEGRADED),
        ([fault(0, "pending")], [], WELL),
        ([fault(0, "held")], [], WELL),
        ([fault(0, "suppressed")], [], WELL),
        ([fault(), fault(0, "suppressed")], [], DEGRADED),
        ([fault(0, "suppressed"), fault()], [], DEGRADED),
        ([fault(type_=EventType.NORMAL)], [], WELL),
        ([fault(subject=OTHER)], [], WELL),
        ([], [MODEL], DEGRADED),
        ([], [OTHER], WELL),
    ],
    ids=[
        "firing",
        "outranked",
        "clearing",
        "muted",
        "in its grace",
        "held",
        "suppressed",
        "the second of two is suppressed",
        "the first of two is suppressed",
        "no fault",
        "of another",
        "it rests on what is at fault",
        "another rests on what is at fault",
    ],
)
def test_what_serves_with_a_fault_is_degraded(faults, hit, state):
    """Where the fault is told, or was, and is its own or of what it rests on."""
    (judged,) = Process().look(0, *faults, serving=[serves()], ready=[MODEL], hit=hit)
    assert judged.state is state


@pytest.mark.parametrize(
    ("faults", "since"),
    [
        ([], None),
        ([fault(-50)], -50),
        ([fault(-50), fault(-70)], -70),
        ([fault(-50), fault(-70, age_known=False)], -50),
        ([fault(-50, age_known=False)], None),
        ([fault(-50, "suppressed")], -50),
        ([fault(-50), fault(-70, "suppressed")], -70),
        ([fault(-50), fault(-70, "pending")], -50),
        ([fault(-50), fault(-70, "held")], -50),
        ([fault(-50), fault(-70, type_=EventType.NORMAL)], -50),
        ([fault(-50), fault(-70, reason=BLIND)], -50),
        ([fault(-50), fault(-70, subject=OTHER)], -50),
    ],
    ids=[
        "none",
        "one",
        "the first of two",
        "not one of unknown age",
        "of unknown age alone",
        "what is suppressed too",
        "what is suppressed first",
        "nothing in its grace",
        "nothing that is held",
        "nothing that is no fault",
        "nothing that cannot be read",
        "nothing of another",
    ],
)
def test_what_is_found_broken_is_so_since_its_first_fault(faults, since):
    """Where nothing tells it, nobody knows."""
    assert Process().down(0, *faults) == (None if since is None else at(since))


def test_a_state_that_is_found_well_has_no_beginning():
    """Nor does one that stays so, whatever is suppressed."""
    process = Process()
    assert process.well(0) is None
    assert process.well(10, fault(5, "suppressed")) is None


@pytest.mark.parametrize(
    ("seconds", "since"),
    [([], 60), ([40], 40), ([40, 30], 30), ([10, 40], 10), ([9, 40], 40), ([9], 60)],
    ids=[
        "without a fault",
        "with its fault",
        "with the first of its faults",
        "with a fault as old as the state before",
        "not with one that is older",
        "with an older one alone",
    ],
)
def test_a_state_begins_with_the_fault_that_came_since_the_one_before(seconds, since):
    """Or when it was seen: the subject was found well, broken at 5, well at 10, and is broken at 60."""
    process = Process()
    process.well(0)
    process.down(5)
    assert process.well(10) == at(10)
    assert process.down(60, *map(fault, seconds)) == at(since)


def test_a_state_that_follows_one_of_unknown_age_begins_with_any_fault():
    """However old that is."""
    process = Process()
    assert process.well(0) is None
    assert process.down(60, fault(-90)) == at(-90)


@pytest.mark.parametrize("faults", [[], [fault(40, "suppressed")]], ids=["none", "one"])
def test_what_works_again_does_so_since_now(faults):
    """What is suppressed began earlier, and is no beginning of that."""
    process = Process()
    process.down(0, fault(-50))
    assert process.well(60, *faults) == at(60)
    assert process.well(90, *faults) == at(60)


def test_what_gets_worse_is_so_since_then():
    """The state is another one, though both are impaired."""
    process = Process()
    assert process.degraded(0, fault(-50)) == at(-50)
    assert process.down(60) == at(60)
    assert process.degraded(90, fault(80)) == at(80)


def test_a_state_that_stays_keeps_its_beginning():
    """Though its faults are others by now."""
    process = Process()
    process.down(0, fault(-50))
    assert process.down(60, fault(-90)) == at(-50)
    assert process.down(90) == at(-50)


def test_a_beginning_that_comes_to_light_is_told():
    """A fault of unknown age, or one in its grace, may tell it later; also next to one that is told."""
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
    ("serving", "faults"),
    [(1, []), (0, [fault()])],
    ids=["well", "broken since some time"],
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
    """Neither the cluster nor a namespace is one."""
    assert is_deployment(subject) is answer
