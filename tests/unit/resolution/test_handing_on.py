"""What continues: faults handed on by a leader, and from one fault of an object to the next."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from reporter.model.subject import CLUSTER, ObjectRef
from reporter.resolution.grace import (
    MOST,
    NOTHING,
    WITHIN,
    Start,
    hand_on,
    since_of,
    take_over,
    token,
)
from reporter.resolution.memory import Episode, Memory
from tests.unit.resolution.building import NOON, Resolver, finding, remembered, seconds


def memory(*faults, ripe=False):
    """Remember faults, each as (its finding, its start, whether it was reported)."""
    episodes = {}
    for found, since, told in faults:
        fault = remembered(found, since=since, ripe=told or ripe, fired=told)
        clock = (found.related, found.budget is not None)
        before = episodes[found.key].faults if found.key in episodes else {}
        episodes[found.key] = Episode(
            since=since, last_seen=timedelta(0), fired=told, listed=True, shown=None,
            faults={**before, clock: fault},
        )  # fmt: skip
    return Memory(episodes=episodes)


def test_what_waits_is_handed_on_with_its_start():
    """The next process reads the second in which the fault began, never an earlier one."""
    found = finding("inferencesetEPPNotReady")
    since = NOON + timedelta(milliseconds=300)
    text = hand_on(memory((found, since, False)))
    handed = take_over(text, NOON, NOON)
    assert since_of(handed, found.key, (found.related, False)) == NOON + timedelta(seconds=1)
    assert since_of(handed, found.key, (found.related, True)) is None


def test_what_was_told_or_can_be_read_again_is_not_handed_on():
    """The recorded Event has the start of one, the object's condition that of the other."""
    told = finding("inferencesetEPPNotReady")
    dated = finding("inferencesetRouteNotReady", transition=NOON)
    assert hand_on(memory((told, NOON, True), (dated, NOON, False))) == ""
    assert hand_on(memory((dated, NOON - timedelta(seconds=9), False)))


def test_faults_of_one_object_are_told_apart():
    """Another reason or another subject has its own start."""
    found = finding("inferencesetEPPNotReady")
    handed = take_over(hand_on(memory((found, NOON, False))), NOON, NOON)
    clock = (found.related, False)
    assert since_of(handed, found.key, clock) == NOON
    others = (
        finding("inferencesetRouteNotReady"),
        finding("inferencesetEPPNotReady", subject=CLUSTER),
    )
    assert [since_of(handed, each.key, clock) for each in others] == [None, None]


def test_what_only_an_event_on_record_tells_of_is_not_handed_on():
    found = finding("inferencesetEPPNotReady")
    known = memory((found, NOON, True))
    episode = known.episodes[found.key]
    faults = {clock: replace(fault, finding=None) for clock, fault in episode.faults.items()}
    assert hand_on(Memory(episodes={found.key: replace(episode, faults=faults)})) == ""


def test_the_form_stays_as_it_is():
    """During an update, another version of the reporter reads it."""
    first = finding("inferencesetEPPNotReady", related=pod("u1"))
    second = finding("inferencesetRouteNotReady")
    known = memory((first, NOON, False), (second, NOON + timedelta(seconds=5), False))
    assert hand_on(known) == '{"07a285e83526":"1795176005","cfae571e8bfb":"1795176000 bb82030d"}'


def test_the_text_stays_the_same_when_a_grace_ends():
    """Faults past their grace go last if there are too many, and stay in order otherwise."""
    older = (finding("inferencesetEPPNotReady"), NOON, False)
    younger = memory((finding("inferencesetRouteNotReady"), NOON + timedelta(seconds=5), False))
    texts = {
        hand_on(Memory(episodes={**memory(older, ripe=ripe).episodes, **younger.episodes}))
        for ripe in (False, True)
    }
    assert len(texts) == 1


def test_the_text_is_bounded_and_the_oldest_go_first():
    """The Lease is written every two seconds."""
    found = [
        (finding("inferencesetEPPNotReady", name=f"m-{n}"), NOON + timedelta(seconds=n), False)
        for n in range(MOST + 5)
    ]
    text = hand_on(memory(*reversed(found)))
    assert len(text) < 6500
    assert max(each.since for each in take_over(text, NOON, NOON).values()) == NOON + timedelta(
        seconds=MOST - 1
    )


def test_faults_past_their_grace_do_not_crowd_out_those_in_it():
    """Suppressed and secondary faults are not reported either; they may be many, and are older."""
    old = memory(
        *((finding("inferencesetEPPNotReady", name=f"m-{n}"), NOON, False) for n in range(MOST)),
        ripe=True,
    )
    young = finding("inferencesetRouteNotReady")
    since = NOON + timedelta(hours=1)
    both = Memory(episodes={**old.episodes, **memory((young, since, False)).episodes})
    handed = take_over(hand_on(both), since, since)
    assert len(handed) == MOST == 200
    assert since_of(handed, young.key, (young.related, False)) == since


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"a": "b"}', '{"a": 1}', '{"a": "9999999999999999"}', "\x00"]
)
def test_a_text_that_somebody_else_wrote_says_nothing(text):
    """A user who may write the Lease can write anything into it."""
    assert take_over(text, NOON, NOON) == NOTHING


@pytest.mark.parametrize(("renewed", "known"), [(NOON, True), (NOON - WITHIN, True),
    (NOON - WITHIN - timedelta(seconds=1), False), (None, False)])  # fmt: skip
def test_what_was_handed_on_long_ago_says_nothing(renewed, known):
    """A fault may have been gone while no leader looked."""
    text = hand_on(memory((finding("inferencesetEPPNotReady"), NOON, False)))
    assert bool(take_over(text, renewed, NOON)) is known


@pytest.mark.parametrize(
    ("before", "uid", "known"),
    [("u1", "u1", True), ("u1", "", True), ("", "u1", True), ("u1", "u2", False)],
)
def test_another_object_of_the_same_name_is_another_fault(before, uid, known):
    """A recreated pod has its own grace; the uid of a missing object may be unknown."""
    text = hand_on(memory((finding("inferencesetEPPNotReady", related=pod(before)), NOON, False)))
    found = finding("inferencesetEPPNotReady", related=pod(uid))
    since = since_of(take_over(text, NOON, NOON), found.key, (found.related, False))
    assert since == (NOON if known else None)


@pytest.mark.parametrize(
    ("handed", "fields", "since"),
    [(30, {}, 30), (30, {"transition": NOON - seconds(20)}, 30), (10, {"transition": NOON - seconds(20)}, 20)],
    ids=["nothing else tells", "earlier than the condition", "later than the condition"],
)  # fmt: skip
def test_the_earlier_start_counts(handed, fields, since):
    """It may be from the last leader or from the object; either way the age is known."""
    found = finding("inferencesetEPPNotReady", **fields)
    begun = Start(NOON - seconds(handed))
    resolver = Resolver()
    resolver.look(0, found, handed={token(found.key, (found.related, False)): begun})
    line = resolver[found.reason]
    assert (line.since, line.age_known) == (NOON - seconds(since), True)
    assert line.fires_at == NOON + seconds(60 - since)


def pod(uid: str) -> ObjectRef:
    return ObjectRef("v1", "Pod", "demo", "x", uid)
