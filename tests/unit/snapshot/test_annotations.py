"""Which annotations are read: those that the struct of a kind names, and of every kind those about muting."""

import json
from typing import get_type_hints

import msgspec
import pytest

from reporter.catalogue import resources as r
from reporter.model.objects import MUTE, MUTE_UNTIL
from tests.tables import ALL


def metadata(resource, annotations):
    """The metadata of an object of a kind, as it is decoded."""
    raw = json.dumps({"name": "x", "namespace": "n", "annotations": annotations})
    return msgspec.json.decode(raw, type=get_type_hints(resource.type)["metadata"])


def carries_mutes(resource):
    found = metadata(resource, {MUTE: "a,b", MUTE_UNTIL: "then", "example.com/x": "y" * 1000})
    return (
        (found.annotation(MUTE), found.annotation(MUTE_UNTIL)) == ("a,b", "then")
        and found.annotations.mutes
        and "y" * 1000 not in repr(found)
    )


def test_every_kind_carries_mutes_and_nothing_that_is_not_read():
    assert [each.selection for each in ALL if not carries_mutes(each)] == []


@pytest.mark.parametrize("annotations", [None, {}, {"example.com/mute": "a", "mute": "b"}])
def test_those_of_others_are_left_out(annotations):
    found = metadata(r.PODS, annotations)
    assert found.annotation(MUTE) is None
    assert not (found.annotations and found.annotations.mutes)


def test_what_is_not_read_cannot_be_asked_for():
    """Else a rule about an annotation would silently never apply."""
    with pytest.raises(KeyError):
        metadata(r.PODS, {"example.com/x": "y"}).annotation("example.com/x")


def test_a_change_of_an_annotation_that_is_not_read_is_none():
    """So it asks for no pass."""
    one, other = {"example.com/x": "1"}, {"example.com/x": "2"}
    assert metadata(r.PODS, one) == metadata(r.PODS, other)
    assert metadata(r.PODS, {MUTE: "1"}) != metadata(r.PODS, {MUTE: "2"})
