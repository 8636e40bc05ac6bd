"""Whatever changes, and in whatever order, reused answers are those of asking from nothing.

The clusters are the examples of all stacks; what changes is any object of them: it goes, comes back,
is replaced by one of another example, loses its labels, is deleted slowly, or has another status.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from reporter.evaluation import evaluate_again
from reporter.model.instant import parse_rfc3339
from reporter.probes.reuse import Answered
from reporter.snapshot.dump import load_dump
from reporter.snapshot.snapshot import ResourceState, Served
from reporter.snapshot.table import Table
from reporter.stacks import BUILT_IN
from reporter.stacks.settings import FullEvaluationSettings

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = [
    "healthy-stack", "broken-stack", "modelserving/healthy", "modelserving/stuck-role",
    "modelservice/healthy", "modelservice/broken", "inferenceservice/healthy",
    "inferenceservice/failing-load", "llminferenceservice/healthy", "llminferenceservice/broken",
    "llminferenceservice/disaggregated",
]  # fmt: skip
SETTINGS = FullEvaluationSettings()
SOON = parse_rfc3339("2026-11-20T12:00:00Z")


@cache
def example(folder):
    return load_dump([EXAMPLES / folder], BUILT_IN).snapshot


@cache
def places(folder):
    """Each object of a cluster, by its resource and key."""
    tables = example(folder).tables
    return [(resource, key) for resource, table in tables.items() for key in sorted(table.objects)]


def removed(objects, key, _):
    objects.pop(key, None)


def put_back(objects, key, original):
    if original is not None:
        objects[key] = original


def unlabelled(objects, key, _):
    if key in objects:
        metadata = msgspec.structs.replace(objects[key].metadata, labels=None)
        objects[key] = msgspec.structs.replace(objects[key], metadata=metadata)


def deleting(objects, key, _):
    if key in objects:
        metadata = msgspec.structs.replace(objects[key].metadata, deletion_timestamp=SOON)
        objects[key] = msgspec.structs.replace(objects[key], metadata=metadata)


def blank(objects, key, _):
    """What a controller has not looked at yet."""
    if key in objects and hasattr(objects[key], "status"):
        objects[key] = msgspec.structs.replace(objects[key], status=type(objects[key].status)())


def copied(objects, key, _):
    """The same object under another name: a rival, or one more pod."""
    if key in objects:
        metadata = msgspec.structs.replace(objects[key].metadata, name=f"{key[1]}-2", uid="two")
        objects[key[0], f"{key[1]}-2"] = msgspec.structs.replace(objects[key], metadata=metadata)


CHANGES = (removed, put_back, unlabelled, deleting, blank, copied)


@st.composite
def stories(draw):
    """A cluster, and groups of changes: each group comes between two passes."""
    folder = draw(st.sampled_from(FOLDERS))
    change = st.tuples(st.sampled_from(places(folder)), st.sampled_from(CHANGES))
    return folder, draw(st.lists(st.lists(change, max_size=3), min_size=1, max_size=5))


def after(snapshot, changes, original):
    tables = dict(snapshot.tables)
    for (resource, key), change in changes:
        objects = dict(tables[resource].objects)
        change(objects, key, original[resource].get(*key))
        tables[resource] = Table(objects, tables[resource])
    return replace(snapshot, tables=tables)


def fresh(snapshot, answered):
    """What is said by somebody who remembers only what was there of shared parts."""
    return evaluate_again(replace(snapshot), SETTINGS, Answered(seen=answered.seen))[0]


@given(stories())
def test_reused_answers_are_those_of_asking_from_nothing(story):
    folder, groups = story
    snapshot = example(folder)
    original = snapshot.tables
    _, answered = evaluate_again(snapshot, SETTINGS, Answered())
    for changes in groups:
        snapshot = after(snapshot, changes, original)
        asked = fresh(snapshot, answered)
        found, answered = evaluate_again(snapshot, SETTINGS, answered)
        assert found == asked


@given(stories())
def test_a_pass_that_is_dropped_leaves_no_trace(story):
    """After a pause of the process its result is forgotten, and the next pass begins where it did."""
    folder, groups = story
    snapshot = example(folder)
    original = snapshot.tables
    _, before = evaluate_again(snapshot, SETTINGS, Answered())
    for changes in groups:
        evaluate_again(after(snapshot, changes, original), SETTINGS, before)
    last = after(snapshot, groups[-1], original)
    assert evaluate_again(last, SETTINGS, before)[0] == fresh(last, before)


def test_a_kind_that_cannot_be_read_any_more_asks_all_again():
    snapshot = example("broken-stack")
    _, answered = evaluate_again(snapshot, SETTINGS, Answered())
    for resource in snapshot.tables:
        states = {**snapshot.states, resource: ResourceState(Served.UNKNOWN)}
        blind = replace(snapshot, states=states)
        assert evaluate_again(blind, SETTINGS, answered)[0] == fresh(blind, answered)
