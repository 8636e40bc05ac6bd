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
from tests.tables import rows
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
    """By what its Ready rests on; one Gateway of its namespace lets nothing through."""
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
        "ready with a fault": (
            [CLUSTER],
            [fault(reason="clusterCRDMissing", subject=CLUSTER)],
            "degraded",
        ),
        "with a fault": ([], [fault(reason="clusterCRDMissing", subject=CLUSTER)], "degraded"),
        "something cannot be read": ([CLUSTER], [fault(reason=BLIND, subject=CLUSTER)], "serving"),
        "a model has a fault": ([CLUSTER], [fault()], "serving"),
    },
)
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
    """Or when it was seen: the subject was found well, broken at 5, well at 10, and is broken at 60."""
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
    """The state is another one, though both are impaired."""
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
    assert is_deployment(subject) is answer
