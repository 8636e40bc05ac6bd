"""Incomplete dumps: cut off, run together, or broken in the middle."""

import json

import pytest
import yaml

from reporter.catalogue import resources as r
from reporter.resolution.unknown import unknown_resources
from reporter.snapshot.dump import load_dump
from reporter.stacks import BUILT_IN
from tests.tables import rows

WRITTEN = {"uid": "u", "resourceVersion": "7"}


def deployment(name):
    metadata = {"name": name, "namespace": "n", **WRITTEN}
    spec, status = {"replicas": 1}, {"readyReplicas": 1, "replicas": 1}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": spec, "status": status,
    }  # fmt: skip


def listed(*names):
    """As kubectl sorts it."""
    items = [deployment(name) for name in names]
    return {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {}}


def text(document):
    return yaml.safe_dump(document)


def up_to(document, mark):
    """The text of a document up to the mark, as when the disk fills up."""
    whole = text(document)
    return whole[: whole.rindex(mark) + len(mark)]


@pytest.fixture
def load(tmp_path):
    def load(content, name="dump.yaml", **options):
        (tmp_path / "pod.json").write_text(
            '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}}'
        )
        (tmp_path / name).write_text(content)
        return load_dump([tmp_path], BUILT_IN, **options).snapshot

    return load


def names(snapshot):
    return [each.name for each in snapshot[r.DEPLOYMENTS]]


CUT_OFF = {
    "in a list": up_to(listed("a", "b"), "name: b\n    namespace: n\n    res"),
    "in a list, behind a value": up_to(listed("a", "b"), "readyReplicas: 1"),
    "in a list, behind a line": up_to(listed("a", "b"), "readyReplicas: 1\n"),
    "in a quoted text": text(listed("a"))[: -len("kind: List\nmetadata: {}\n")]
    + "- apiVersion: apps/v1\n  kind: Deployment\n  metadata:\n    name: 'b",
    "in a single object": text(deployment("a")) + up_to(deployment("b"), "status:\n  ready"),
    "behind a value of a single object": text(deployment("a")) + up_to(deployment("b"), "uid: u"),
    "and the next list begins in that line": up_to(listed("a", "b"), "readyReplicas: 1\n    rep") + text(listed("c")),
    "and the next object begins in that line": text(deployment("a")) + up_to(deployment("b"), "readyRep") + text(deployment("c")),
}  # fmt: skip


@pytest.mark.parametrize("form", CUT_OFF)
@pytest.mark.parametrize("complete", [False, True])
def test_what_is_cut_off_makes_its_kind_unknown(load, form, complete):
    """Everything before and after it counts; what is missing may have been in the lost part."""
    snapshot = load(CUT_OFF[form], complete=complete)
    assert names(snapshot) in (["a"], ["a", "c"])
    assert not snapshot.absence_known(r.DEPLOYMENTS, "n", "other")
    assert snapshot.absence_known(r.PODS, "n", "other")
    (unknown,) = [each for each in unknown_resources(snapshot) if "deployments" in each.resource]
    assert "not all of" in unknown.cause
    assert any("dump.yaml" in each.resource or each.name == "b" for each in snapshot.skipped)


@pytest.mark.parametrize("name", ["dump.json", "dump.yaml"])
@pytest.mark.parametrize("following", ["", json.dumps(listed("c"), indent=4)])
def test_json_that_is_cut_off(load, name, following):
    """The same holds for JSON, also where a loop goes on writing after it."""
    whole = json.dumps(listed("a", "b"), indent=4)
    snapshot = load(whole[: whole.rindex("readyReplicas")] + "\n" + following, name)
    assert names(snapshot) == (["a", "c"] if following else ["a"])
    assert not snapshot.absence_known(r.DEPLOYMENTS, "n", "other")
    assert {each.name for each in snapshot.skipped} == {"", "b"}


@pytest.mark.parametrize(
    "content",
    [
        "apiVersion: v1\nitems:\n",
        "apiVersion: v1\nitems:\n- apiVersion: v1\n  ki",
        "apiVersion: apps/v1\nkind: apiVersion: apps/v1\n",
    ],
)
def test_a_list_of_which_nothing_is_left_may_have_held_anything(load, content):
    snapshot = load(content)
    assert not snapshot.absence_known(r.PODS, "n", "other")
    assert len(snapshot.skipped) == 1


@pytest.mark.parametrize("content", ["a: [", "apiVersion", "- 1\n- [", "\x01"])
def test_a_file_that_is_no_dump_makes_nothing_unknown(load, content):
    """A note beside the dump costs one line among what was skipped."""
    snapshot = load(content)
    assert snapshot.absence_known(r.PODS, "n", "other")
    assert len(snapshot.skipped) == 1


@rows(
    "content",
    {
        "objects in a loop": text(deployment("a")) + text(deployment("b")),
        "lists in a loop": text(listed("a")) + text(listed("b")),
        "marked": text(deployment("a")) + "---\n" + text(deployment("b")),
        "typed by hand, without a last line break": text(
            {**deployment("a"), "metadata": {"name": "a", "namespace": "n"}}
        ).rstrip()
        + "\n---\n"
        + text({**deployment("b"), "metadata": {"name": "b", "namespace": "n"}}).rstrip(),
    },
)
def test_what_is_whole_is_not_called_cut_off(load, content):
    snapshot = load(content)
    assert names(snapshot) == ["a", "b"]
    assert snapshot.skipped == ()
    assert snapshot.absence_known(r.DEPLOYMENTS, "n", "other")


def test_a_bare_list_that_is_cut_off(load):
    """Some tools write the objects without a list around them."""
    whole = yaml.safe_dump([deployment("a"), deployment("b")])
    snapshot = load(whole[: whole.rindex("name: b") + len("name: b\n    names")])
    assert names(snapshot) == ["a"]
    assert not snapshot.absence_known(r.DEPLOYMENTS, "n", "other")
    assert {each.name for each in snapshot.skipped} == {"", "b"}
