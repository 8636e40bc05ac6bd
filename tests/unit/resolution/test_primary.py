"""Rule 8: which cause of a subject is the one to look at first, and for how long."""

import pytest

from reporter.model.finding import Evaluation, FindingKey
from reporter.model.report import Disposition, ResolvedFinding
from reporter.model.subject import CLUSTER
from reporter.resolution.grace import OneLook
from reporter.resolution.memory import Episode, Memory, Primary
from reporter.resolution.priority import mark_primary
from reporter.resolution.records import records_of
from reporter.resolution.state import PassState
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import BY_NAME
from tests.unit.resolution.building import HARNESS, NOON, START, finding, seconds, snapshot
from tests.unit.resolution.test_records import events_of, muted

FRONT, BACK, GONE = (
    finding(f"cluster{each}NotReady").key for each in ("GatewayAuth", "Keda", "BBR")
)
OTHER, NEXT = (
    finding(each).key
    for each in ("modelharnessGatewayClassMissing", "modelharnessAPIKeyReconcileFailed")
)
ALL = (FRONT, BACK, GONE, OTHER, NEXT)
NOW = START.boot


def cause(key: FindingKey, *, stale=False) -> ResolvedFinding:
    """A cause that fires."""
    said, row = finding(key.reason), BY_NAME[key.reason]
    return ResolvedFinding(
        reason=key.reason, layer=row.layer, type=row.type, subject=key.subject,
        involved=key.involved, related=said.related, disposition=Disposition.FIRING,
        message="", cause="", since=NOON, stale=stale,
    )  # fmt: skip


def episode(key: FindingKey, *, fired=True) -> Episode:
    """What is remembered of a cause."""
    return Episode(since=NOON, last_seen=NOW, fired=fired, listed=True, shown=cause(key), faults={})


def mark(*keys, stale=(), held=(), fired=ALL, young=(), grace=60, events=(), one_look=None):
    """Mark causes in their order; `held` are the primary ones of the pass before."""
    episodes = {key: episode(key) for key in fired} | {
        key: episode(key, fired=False) for key in young
    }
    seen = snapshot(events=events)
    state = PassState(
        evaluation=Evaluation((), (), ()),
        snapshot=seen,
        now=START,
        settings=FullEvaluationSettings(startup_grace_seconds=grace),
        one_look=one_look,
        memory=Memory(episodes=episodes, primaries={each.key.subject: each for each in held}),
        records=records_of(seen),
    )
    return mark_primary([cause(key, stale=key in stale) for key in keys], state)


def first(key: FindingKey, ago: float | None = None) -> Primary:
    """A primary cause, behind others since so many seconds ago."""
    return Primary(key, None if ago is None else NOW - seconds(ago))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, first(FRONT)),
        ({"held": [first(FRONT, 30)]}, first(FRONT)),
        ({"held": [first(BACK)]}, first(BACK, 0)),
        ({"held": [first(BACK, 59)]}, first(BACK, 59)),
        ({"held": [first(BACK, 60)]}, first(FRONT)),
        ({"held": [first(GONE)]}, first(FRONT)),
        ({"held": [first(BACK)], "fired": [BACK]}, first(FRONT)),
        ({"held": [first(BACK)], "young": [FRONT]}, first(FRONT)),
        ({"stale": [FRONT]}, first(BACK)),
        ({"stale": [FRONT, BACK]}, first(FRONT)),
        ({"stale": [BACK], "held": [first(BACK)]}, first(FRONT)),
        ({"stale": [FRONT, BACK], "held": [first(BACK)]}, first(BACK, 0)),
        ({"stale": [FRONT], "held": [first(FRONT)]}, first(BACK)),
        ({"grace": 0, "held": [first(BACK)]}, first(BACK, 0)),
        ({"grace": 0, "held": [first(BACK, 0.9)]}, first(BACK, 0.9)),
        ({"grace": 0, "held": [first(BACK, 1)]}, first(FRONT)),
    ],
    ids=[
        "first", "in-front-again", "stays", "nearly-a-grace", "a-grace", "ended", "unheard",
        "never-fired-before", "stale-in-front", "all-stale", "held-is-stale", "held-and-all-stale",
        "held-in-front-is-stale", "without-graces", "before-the-next-pass", "the-next-pass",
    ],
)  # fmt: skip
def test_which_cause_is_primary(options, expected):
    """The first stays until others have been in front for a grace; news and what can be judged comes at once."""
    marked = mark(FRONT, BACK, **options)
    assert marked.held == {CLUSTER: expected}
    assert [each.key for each in marked.causes] == [FRONT, BACK]
    assert [each.key for each in marked.causes if each.primary] == [expected.key]


@pytest.mark.parametrize(
    ("held", "grace", "wake"),
    [
        ([], 60, None),
        ([first(BACK)], 60, 60),
        ([first(BACK, 20)], 60, 40),
        ([first(BACK, 20), first(NEXT, 50)], 60, 10),
        ([first(BACK, 50), first(NEXT, 20)], 60, 10),
        ([first(BACK)], 0, 1),
    ],
    ids=["none-is-behind", "begins", "goes-on", "second-is-next", "first-is-next", "no-graces"],
)
def test_when_the_mark_moves_by_itself(held, grace, wake):
    """Once others have been in front for a grace: of several subjects the next one counts."""
    marked = mark(FRONT, BACK, OTHER, NEXT, held=held, grace=grace)
    assert marked.wake_in == (None if wake is None else seconds(wake))
    assert marked.held.keys() == {CLUSTER, HARNESS}


def told(key: FindingKey, *, primary: bool, at: float = 0):
    """The Event on record of a cause."""
    (event,) = events_of(finding(key.reason, exempt=True), at=at)
    labels = event["metadata"]["labels"] | {"status-reporter.io/primary": str(primary).lower()}
    return event | {"metadata": event["metadata"] | {"labels": labels}}


@pytest.mark.parametrize(
    ("events", "options", "expected"),
    [
        ([told(BACK, primary=True)], {}, first(BACK, 0)),
        ([told(BACK, primary=False)], {}, first(FRONT)),
        ([muted(told(BACK, primary=True))], {}, first(FRONT)),
        ([muted(told(BACK, primary=False))], {}, first(FRONT)),
        ([told(BACK, primary=True)], {"one_look": OneLook()}, first(FRONT)),
        ([told(BACK, primary=True)], {"held": [first(FRONT)]}, first(FRONT)),
        ([told(FRONT, primary=True)], {"held": [first(BACK, 9)]}, first(BACK, 9)),
        (
            [told(FRONT, primary=True, at=9), told(BACK, primary=True)],
            {},
            first(BACK, 0),
        ),
    ],
    ids=[
        "primary", "not-primary", "muted", "muted-not-primary", "one-look", "remembered-first",
        "remembered-behind", "the-oldest",
    ],
)  # fmt: skip
def test_what_our_events_say_is_primary(events, options, expected):
    """A process that starts goes on with it; what it remembers itself comes first."""
    assert mark(FRONT, BACK, events=events, **options).held == {CLUSTER: expected}
