"""The judges see what they are there for, and nothing in what is as promised."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from e2e.chaos.judges import (
    Key,
    Truth,
    Version,
    doubled,
    late_writes,
    lost,
    told_at,
    untrue,
    writers,
)
from e2e.envtest.audit import Request

DOWN = Key("clusterBBRNotReady", "cluster")
PODS = Key("inferencesetModelPodsNotReady", "inferenceset/n/m")
READY = Key("inferencesetReady", "inferenceset/n/m")


def version(at, key, state="firing", *, name="", uid="", count=1, history=0):
    kind = "Normal" if key.reason.endswith("Ready") and "Not" not in key.reason else "Warning"
    name = name or f"{key.reason}.1"
    return Version(at, name, uid or f"uid-of-{name}", key, kind, state, count, history=history)


STORY = [
    version(1, DOWN),
    version(2, PODS),
    version(30, DOWN, count=2),
    version(50, PODS, "over"),
    version(51, READY, "over"),
]
"""One part goes down and stays down; pods fail and are repaired 48 seconds after the start."""
TRUTHS = [Truth(DOWN), Truth(PODS, since=1, until=48)]


def test_story_as_promised():
    assert untrue(STORY, TRUTHS) == []
    assert lost(STORY, TRUTHS) == []
    assert doubled(STORY) == []


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (version(60, PODS, name="again"), "was told and was not so"),
        (version(60, Key("clusterCRDMissing", "cluster")), "was told and was not so"),
        (version(60, Key("clusterReady", "cluster"), "over"), "while it was not so"),
        (version(60, DOWN, "over"), "to be over and was not"),
        (version(60, PODS), "was told and was not so"),
    ],
    ids=["after-its-repair", "never-was", "ready", "over", "opened-again"],
)
def test_what_is_not_so(more, text):
    (found,) = untrue([*STORY, more], TRUTHS)
    assert text in found


def test_warning_that_is_allowed():
    unknown = version(60, Key("clusterStatusUnknown", "cluster"))
    assert untrue([*STORY, unknown], TRUTHS, {"clusterStatusUnknown"}) == []
    (found,) = lost([*STORY, unknown], TRUTHS)
    assert "clusterStatusUnknown of cluster is not told to be over" in found


def test_write_that_was_under_way_when_the_cluster_changed():
    assert untrue([*STORY[:2], version(49, PODS, name="late"), *STORY[3:]], TRUTHS) == []


def test_stale_is_neither_over_nor_told():
    stale = version(60, DOWN, "stale", count=2)
    assert untrue([*STORY, stale], TRUTHS) == []
    assert lost([*STORY, stale], TRUTHS) == [f"{DOWN} is not told"]


@pytest.mark.parametrize(
    ("left_out", "text"),
    [(0, "is not told"), (3, "is not told to be over"), (4, "is not told to be ready again")],
)
def test_what_is_lost(left_out, text):
    name = STORY[left_out].name
    before = [each for each in STORY[:left_out] if each.name != name or left_out == 3]
    after = [each for each in STORY[left_out + 1 :] if each.name != name]
    (found,) = lost([*before, *after], TRUTHS)
    assert found.endswith(text)


def test_ready_of_an_earlier_time_does_not_count():
    earlier = [replace(each, at=40) if each.key == READY else each for each in STORY]
    assert lost(earlier, TRUTHS) == [f"{READY.subject} is not told to be ready again"]


def test_fault_that_a_restored_cluster_never_had():
    record = [STORY[0], version(2, PODS), version(40, PODS, "", history=1)]
    truths = [Truth(DOWN), Truth(PODS, since=1, until=40, undone=True)]
    assert untrue(record, truths) == []
    assert lost(record, truths) == []


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ([version(60, DOWN, name="other")], "other beside"),
        ([version(60, DOWN, count=1)], "count went from 2 to 1"),
        ([version(60, READY, "over", name="other")], "other beside"),
    ],
    ids=["second-event", "count", "second-ready"],
)
def test_what_is_doubled(more, text):
    (found,) = doubled([*STORY, *more])
    assert text in found


def test_what_is_no_double():
    """Another episode, an Event that was deleted, and a cluster that was put back."""
    again = [version(70, PODS, name="episode-2"), version(80, PODS, "over", name="episode-2")]
    assert doubled([*STORY, *again, version(81, READY, "over", name="ready-2")]) == []
    gone = [version(60, DOWN, "", count=2), version(61, DOWN, uid="new", count=1)]
    assert doubled([*STORY, *gone]) == []
    assert doubled([*STORY, version(60, DOWN, count=1, history=1)]) == []


def test_first_moment_when_all_is_told():
    assert told_at(STORY, TRUTHS, since=48) == 51
    assert told_at(STORY, TRUTHS, since=60) == 60
    assert told_at(STORY[:4], TRUTHS, since=48) is None


def request(pod, resource="events", verb="patch", code=200):
    return Request(
        at=datetime.now(UTC), user="u", pod=pod, verb=verb, resource=resource, namespace="",
        name="e", code=code, allowed=True, uri="",
    )  # fmt: skip


def lease(pod, code=200):
    return request(pod, "leases.coordination.k8s.io", "update", code)


def test_writes_in_terms_of_their_own():
    asked = [lease("a"), request("a"), lease("b"), request("b"), lease("a"), request("a")]
    assert late_writes(asked) == []
    assert writers(asked) == ["a", "b", "a"]


def test_write_in_the_term_of_another():
    landed = [lease("a"), request("a"), lease("b"), request("a"), request("b")]
    assert late_writes(landed) == []
    assert len(late_writes([*landed, request("a")])) == 1
    assert late_writes([*landed, request("a", code=409)]) == []
    assert len(late_writes([*landed, lease("a", code=409), request("a")])) == 1
