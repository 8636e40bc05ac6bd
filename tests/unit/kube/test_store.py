"""What counts as a change of an object."""

from dataclasses import replace

import msgspec
import pytest

from reporter.kube.decode import FrameType
from reporter.kube.store import Store
from reporter.model.objects import Pod
from reporter.model.report import SkippedObject


def pod(version, phase="Running", **metadata):
    return msgspec.convert(
        {
            "metadata": {"name": "p", "namespace": "n", "resourceVersion": version, **metadata},
            "status": {"phase": phase},
        },
        Pod,
    )


@pytest.mark.parametrize(
    ("after", "changes"),
    [
        (pod("2"), 1),
        (pod("2", phase="Failed"), 2),
        (pod("2", labels={"a": "b"}), 2),
        (pod("2", uid="other"), 2),
    ],
    ids=["a field nobody reads", "status", "labels", "another object of that name"],
)
def test_a_change_is_one_of_what_is_read(after, changes):
    """Heartbeats and managed fields ask for no pass."""
    store = Store()
    store.apply(FrameType.ADDED, pod("1"))
    store.apply(FrameType.MODIFIED, after)
    assert store.changes == changes


def test_a_malformed_object_that_stays_so_is_no_news():
    """Whatever else of it changes: nothing of it is read."""
    store = Store()
    bad = SkippedObject("pods", "n", "p", "status.conditions is not a list")
    store.apply(FrameType.ADDED, pod("1"))
    for content in (bad, replace(bad), replace(bad)):
        store.apply(FrameType.MODIFIED, content)
    assert store.changes == 2
    store.apply(FrameType.MODIFIED, replace(bad, cause="metadata is missing"))
    assert store.changes == 3
    store.apply(FrameType.DELETED, bad)
    assert (store.changes, store.skipped) == (4, {})


def test_versions_count_where_objects_are_written():
    """Our own Events are patched with the version on record."""
    store = Store(versions_matter=True)
    store.apply(FrameType.ADDED, pod("1"))
    store.apply(FrameType.MODIFIED, pod("2"))
    assert store.objects["n", "p"].metadata.resource_version == "2"


def test_a_deletion_is_a_change():
    """Also of an object that was just confirmed unchanged."""
    store = Store()
    store.apply(FrameType.ADDED, pod("1"))
    store.apply(FrameType.MODIFIED, pod("2"))
    store.apply(FrameType.DELETED, pod("3"))
    assert store.objects == {}
