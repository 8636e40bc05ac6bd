"""What goes into a dump of an object is what is read of it, no less and no more."""

import json

import msgspec
import pytest

from reporter.catalogue import resources as r
from reporter.model.objects import Pod
from reporter.model.resource import Resource
from reporter.snapshot.decode import decode_object
from reporter.snapshot.documents import read_documents
from reporter.snapshot.outputs.archive import pruned
from reporter.stacks import BUILT_IN
from tests.unit.conftest import EXAMPLES

FOLDERS = sorted({path.parent for path in EXAMPLES.rglob("*.yaml") if "metrics" not in path.parts})


def items_of(folder):
    for document in read_documents([folder]):
        yield from document.value.get("items", [document.value])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_nothing_that_is_read_is_lost(folder):
    """Decoded from the dump an object is what it is decoded from the cluster."""
    for item in items_of(folder):
        group = item.get("apiVersion", "").rpartition("/")[0]
        for resource in (*BUILT_IN.resources, *r.BY_PLACE):
            if (resource.group, resource.kind) == (group, item.get("kind")):
                kept = pruned(item, (resource.type,))
                assert decode_object(resource, msgspec.json.encode(kept)) == decode_object(
                    resource, msgspec.json.encode(item)
                )


def pod(**rest):
    return {"metadata": {"name": "p", "namespace": "n"}, **rest}


@pytest.mark.parametrize(
    "item",
    [
        pod(spec=5),
        pod(spec="secret"),
        pod(spec=["secret"]),
        pod(spec={"containers": {"secret": 1}}),
        pod(spec={"containers": [{"image": "i"}]}),
        pod(status={"phase": {"secret": 1}}),
        pod(status={"conditions": [{"type": "A"}] * 1001}),
        pod(metadata={"name": "p", "namespace": "n", "creationTimestamp": "soon"}),
        {"metadata": "secret"},
    ],
    ids=json.dumps,
)
def test_what_is_malformed_stays_malformed(item):
    """For the same cause, and without what stands where something else should."""
    kept = pruned(item, (Pod,))
    assert decode_object(r.PODS, msgspec.json.encode(kept)) == decode_object(
        r.PODS, msgspec.json.encode(item)
    )
    assert "secret" not in json.dumps(kept)


def test_what_is_not_read_stays_out():
    """Also of an object that is compared as a whole: who manages it, and what was applied."""
    applied = {"kubectl.kubernetes.io/last-applied-configuration": "x", "a": "b"}
    item = pod(
        spec={"volumes": [{"secret": {"secretName": "x"}}], "nodeName": "node"},
        metadata={"name": "p", "namespace": "n", "managedFields": [{}], "annotations": applied},
    )
    assert pruned(item, (Pod,)) == {
        "metadata": {"name": "p", "namespace": "n", "annotations": {}},
        "spec": {"volumes": [{}], "nodeName": "node"},
    }


def test_a_kind_that_is_read_for_two_purposes():

    class Phase(msgspec.Struct, frozen=True):
        phase: str = ""

    class Other(msgspec.Struct, frozen=True):
        status: Phase = Phase()

    item = pod(spec={"nodeName": "node", "x": 1}, status={"phase": "Running", "x": 1})
    kept = pruned(
        item,
        (Other, type("Half", (msgspec.Struct,), {"__annotations__": {"spec": dict[str, int]}})),
    )
    assert kept == {"spec": {"nodeName": "node", "x": 1}, "status": {"phase": "Running"}}


def test_every_resource_has_a_struct_that_can_be_pruned_by():
    """A type that inspection does not know would let everything in, or nothing."""
    for resource in (*BUILT_IN.resources, *r.BY_PLACE):
        assert isinstance(resource, Resource)
        assert pruned({"metadata": {"name": "x"}, "unread": 1}, (resource.type,)) == {
            "metadata": {"name": "x"}
        }
