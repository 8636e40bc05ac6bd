"""What counts as a change of an object."""

import copy
from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from reporter.catalogue.resources import ENVOYFILTERS, NAMESPACES, PODS, SERVICES
from reporter.kube.decode import FrameType
from reporter.kube.store import MOST_BYTES, SKIPPED, Store
from reporter.model.objects import EnvoyFilter, Namespace, Pod, Service
from reporter.model.report import SkippedObject
from reporter.snapshot.dump import load_dump
from reporter.stacks import BUILT_IN
from tests.tables import rows

EXAMPLES = Path(__file__).parents[3] / "examples"


def pod(version, phase="Running", **metadata):
    return msgspec.convert(
        {
            "metadata": {"name": "p", "namespace": "n", "resourceVersion": version, **metadata},
            "status": {"phase": phase},
        },
        Pod,
    )


@rows(
    ("after", "changes"),
    {
        "a field nobody reads": (pod("2"), 1),
        "status": (pod("2", phase="Failed"), 2),
        "labels": (pod("2", labels={"a": "b"}), 2),
        "another object of that name": (pod("2", uid="other"), 2),
    },
)
def test_a_change_is_one_of_what_is_read(after, changes):
    """Heartbeats and managed fields ask for no pass."""
    store = Store(PODS)
    store.apply(FrameType.ADDED, pod("1"))
    store.apply(FrameType.MODIFIED, after)
    assert store.changes == changes


def test_a_malformed_object_that_stays_so_is_no_news():
    store = Store(PODS)
    bad = SkippedObject("pods", "n", "p", "status.conditions is not a list")
    store.apply(FrameType.ADDED, pod("1"))
    for content in (bad, replace(bad), replace(bad)):
        store.apply(FrameType.MODIFIED, content)
    assert store.changes == 2
    store.apply(FrameType.MODIFIED, replace(bad, cause="metadata is missing"))
    assert store.changes == 3
    store.apply(FrameType.DELETED, bad)
    assert (store.changes, store.skipped) == (4, {})


def test_malformed_objects_beyond_a_number_may_be_any():
    """A tenant with many of them hides nobody else's, and none of its own seems not to exist."""
    store = Store(PODS)
    for number in range(SKIPPED + 50):
        store.apply(FrameType.ADDED, SkippedObject("pods", "a", f"p-{number}", "x"))
    other = SkippedObject("pods", "b", "p", "x")
    store.apply(FrameType.ADDED, other)
    assert store.skipped["b", "p"] == other
    assert store.skipped["a", ""].cause == "x"
    assert len(store.skipped) == SKIPPED + 2


def test_what_was_touched_is_told_once():
    """An untouched object is the same as before; after a list any object may differ."""
    store = Store(PODS)
    assert store.take_touched() is None
    store.apply(FrameType.ADDED, pod("1"))
    store.apply(FrameType.MODIFIED, pod("2"))
    assert store.take_touched() == {("n", "p")}
    store.apply(FrameType.MODIFIED, pod("3"))
    assert store.take_touched() == set()
    store.apply(FrameType.DELETED, pod("3"))
    assert store.take_touched() == {("n", "p")}
    store.apply(FrameType.ADDED, pod("4"))
    store.replace({("n", "p"): pod("5")}, {})
    assert store.take_touched() is None


def test_versions_count_where_objects_are_written():
    """Our own Events are patched with the version on record."""
    store = Store(PODS, versions_matter=True)
    store.apply(FrameType.ADDED, pod("1"))
    store.apply(FrameType.MODIFIED, pod("2"))
    assert store.objects["n", "p"].metadata.resource_version == "2"


@pytest.mark.parametrize("folder", ["healthy-stack", "broken-stack", "modelserving/healthy"])
def test_an_object_with_shared_strings_is_equal(folder):
    """Whatever its kind, nothing is lost and no value changes."""
    tables = load_dump([EXAMPLES / folder], BUILT_IN).snapshot.tables
    store = Store(PODS)
    for table in tables.values():
        for key, obj in table.objects.items():
            copied = copy.deepcopy(obj)
            assert store.known([copied])[0] == {key: obj}
            assert type(copied) is type(obj)


def test_a_namespace_has_a_share_of_memory():
    """Objects beyond it are skipped with a note until there is room; other namespaces keep theirs."""
    store = Store(PODS)
    large = {f"{number}{'x' * 1000}": "x" * 1000 for number in range(MOST_BYTES // 8000)}
    pods = [pod("1", name=name, labels=large) for name in "abcdef"]
    objects, left_out = store.known(pods)
    store.replace(objects, {(each.namespace, each.name): each for each in left_out})
    assert [name for _, name in objects] == ["a", "b", "c"]
    assert {each.name for each in left_out} == {"d", "e", "f"}
    assert "more than 32 MiB" in left_out[0].cause
    store.apply(FrameType.ADDED, pod("1", name="small", namespace="other", labels={"a": "b"}))
    assert ("other", "small") in store.objects
    store.apply(FrameType.DELETED, pods[0])
    store.apply(FrameType.MODIFIED, pods[3])
    assert ("n", "d") in store.objects
    assert ("n", "d") not in store.skipped


def test_a_namespace_has_a_share_of_memory_for_all_kinds(monkeypatch):
    """A kind that is no longer read gives its share back."""
    monkeypatch.setattr("reporter.kube.store.MOST_IN_ALL", 100_000)
    in_all = Counter()
    stores = [Store(kind, in_all=in_all) for kind in (PODS, SERVICES)]
    labels = {"a": "x" * 60_000}
    stores[0].apply(FrameType.ADDED, pod("1", labels=labels))
    service = msgspec.convert(
        {"metadata": {"name": "s", "namespace": "n", "labels": {"b": "y" * 60_000}}}, Service
    )
    stores[1].apply(FrameType.ADDED, service)
    assert "the objects of its namespace take more than" in stores[1].skipped["n", "s"].cause
    stores[0].close()
    stores[1].apply(FrameType.MODIFIED, service)
    assert ("n", "s") in stores[1].objects


def test_an_object_of_an_interrupted_list_takes_no_memory_once_it_is_gone(monkeypatch):
    """Although the complete list that follows changes nothing."""
    monkeypatch.setattr("reporter.kube.store.MOST_BYTES", 100_000)
    store, labels = Store(PODS), {"a": "x" * 60_000}
    store.known([pod("1", name="gone", labels=labels)])
    store.replace({}, {})
    objects, left_out = store.known([pod("1", name="new", labels=labels)])
    assert left_out == []
    assert [name for _, name in objects] == ["new"]


def test_what_is_in_no_namespace_is_nobodys_share(monkeypatch):
    monkeypatch.setattr("reporter.kube.store.MOST_IN_ALL", 100)
    store = Store(NAMESPACES)
    store.apply(FrameType.ADDED, msgspec.convert({"metadata": {"name": "a" * 200}}, Namespace))
    assert store.skipped == {}


def test_what_an_object_takes_is_what_it_holds_now():
    """However often it grew and shrank; unchanged parts are kept."""
    store, large = Store(PODS), {str(number): "x" * 1000 for number in range(MOST_BYTES // 2000)}
    for version in range(9):
        labels = large if version % 2 else {"a": "b"}
        store.apply(FrameType.MODIFIED, pod(str(version), labels=labels))
        status = store.objects["n", "p"].status
        store.apply(FrameType.MODIFIED, pod(f"{version}.1", labels=labels | {"c": "d"}))
        assert store.objects["n", "p"].status is status
    store.apply(FrameType.ADDED, pod("1", name="q", labels=large))
    assert {name for _, name in store.objects} == {"p", "q"}
    store.apply(FrameType.ADDED, pod("1", name="r", labels=large))
    assert {name for _, name in store.skipped} == {"r"}


def test_what_neighbours_have_in_common_is_one():
    """In a list, and only if equal values are the same JSON: in free-form ones 1 equals true."""
    first, second = Store(PODS).known([pod("1", name=name) for name in "ab"])[0].values()
    assert (first.name, second.name) == ("a", "b")
    assert first.status is second.status
    patched = [
        msgspec.convert(
            {"metadata": {"name": name, "namespace": "n"}, "spec": {"configPatches": [value]}},
            EnvoyFilter,
        )
        for name, value in (("a", 1), ("b", True))
    ]
    known = Store(ENVOYFILTERS).known(patched)[0].values()
    assert [each.spec.config_patches[0] for each in known] == [1, True]
    assert [type(each.spec.config_patches[0]) for each in known] == [int, bool]
