"""What counts as a change of an object."""

import msgspec
import pytest

from reporter.kube.decode import FrameType
from reporter.kube.store import Store
from reporter.model.objects import Pod


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
