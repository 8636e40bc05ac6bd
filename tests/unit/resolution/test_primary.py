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
from tests.tables import BY_NAME, rows
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


@rows(
    ("options", "expected"),
    {
        "first": ({}, first(FRONT)),
        "in-front-again": ({"held": [first(FRONT, 30)]}, first(FRONT)),
        "stays": ({"held": [first(BACK)]}, first(BACK, 0)),
        "nearly-a-grace": ({"held": [first(BACK, 59)]}, first(BACK, 59)),
        "a-grace": ({"held": [first(BACK, 60)]}, first(FRONT)),
        "ended": ({"held": [first(GONE)]}, first(FRONT)),
        "unheard": ({"held": [first(BACK)], "fired": [BACK]}, first(FRONT)),
        "never-fired-before": ({"held": [first(BACK)], "young": [FRONT]}, first(FRONT)),
        "stale-in-front": ({"stale": [FRONT]}, first(BACK)),
        "all-stale": ({"stale": [FRONT, BACK]}, first(FRONT)),
        "held-is-stale": ({"stale": [BACK], "held": [first(BACK)]}, first(FRONT)),
        "held-and-all-stale": ({"stale": [FRONT, BACK], "held": [first(BACK)]}, first(BACK, 0)),
        "held-in-front-is-stale": ({"stale": [FRONT], "held": [first(FRONT)]}, first(BACK)),
        "without-graces": ({"grace": 0, "held": [first(BACK)]}, first(BACK, 0)),
        "before-the-next-pass": ({"grace": 0, "held": [first(BACK, 0.9)]}, first(BACK, 0.9)),
        "the-next-pass": ({"grace": 0, "held": [first(BACK, 1)]}, first(FRONT)),
    },
)
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


@rows(
    ("events", "options", "expected"),
    {
        "primary": ([told(BACK, primary=True)], {}, first(BACK, 0)),
        "not-primary": ([told(BACK, primary=False)], {}, first(FRONT)),
        "muted": ([muted(told(BACK, primary=True))], {}, first(FRONT)),
        "muted-not-primary": ([muted(told(BACK, primary=False))], {}, first(FRONT)),
        "one-look": ([told(BACK, primary=True)], {"one_look": OneLook()}, first(FRONT)),
        "remembered-first": ([told(BACK, primary=True)], {"held": [first(FRONT)]}, first(FRONT)),
        "remembered-behind": (
            [told(FRONT, primary=True)],
            {"held": [first(BACK, 9)]},
            first(BACK, 9),
        ),
        "the-oldest": (
            [told(FRONT, primary=True, at=9), told(BACK, primary=True)],
            {},
            first(BACK, 0),
        ),
    },
)
def test_what_our_events_say_is_primary(events, options, expected):
    """A process that starts goes on with it; what it remembers itself comes first."""
    assert mark(FRONT, BACK, events=events, **options).held == {CLUSTER: expected}
