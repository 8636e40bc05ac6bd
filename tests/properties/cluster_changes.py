"""Random changes of the examples of all stacks, a few objects at a time."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
from hypothesis import strategies as st

from reporter.model.instant import parse_rfc3339
from reporter.snapshot.dump import load_dump
from reporter.snapshot.table import Table
from reporter.stacks import BUILT_IN

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = [
    "healthy-stack", "broken-stack", "modelserving/healthy", "modelserving/stuck-role",
    "modelservice/healthy", "modelservice/broken", "inferenceservice/healthy",
    "inferenceservice/failing-load", "llminferenceservice/healthy", "llminferenceservice/broken",
    "llminferenceservice/disaggregated",
]  # fmt: skip
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


def _touched(key):
    """What a watch would tell of a change: the object, and the copy that may be made of it."""
    return {key, (key[0], f"{key[1]}-2")}


def after(snapshot, changes, original):
    tables = dict(snapshot.tables)
    for (resource, key), change in changes:
        objects = dict(tables[resource].objects)
        change(objects, key, original[resource].get(*key))
        tables[resource] = Table(objects, tables[resource], _touched(key))
    return replace(snapshot, tables=tables)
