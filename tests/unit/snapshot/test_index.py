"""Indexes that are mended after a few changes."""

from msgspec import structs

from reporter.model.objects import KubeObject, Metadata
from reporter.snapshot.index import index_of

LABEL = "app"


def pod(name: str, app: str) -> KubeObject:
    return KubeObject(metadata=Metadata(name=name, namespace="team", labels={LABEL: app}))


def objects(*pods: KubeObject) -> dict[tuple[str, str], KubeObject]:
    return {(each.namespace, each.name): each for each in pods}


def test_an_index_does_not_grow_with_the_names_that_are_gone():
    """A day of rollouts brings a new hash of the template with each; those that are gone are not kept."""
    other = pod("other", "other")
    index = index_of(objects(other))
    assert index.labelled("team", LABEL, "other") == (other,)
    gone = None
    for number in range(50):
        new = pod(f"p-{number}", f"hash-{number}")
        changes = [(None, new)] if gone is None else [(gone, None), (None, new)]
        index, gone = index.after(changes, objects(other, new)), new
    moved = structs.replace(gone, metadata=structs.replace(gone.metadata, labels={LABEL: "other"}))
    index = index.after([(gone, moved)], objects(other, moved))
    assert index.labelled("team", LABEL, "other") == (other, moved)
    assert index.labelled("team", LABEL, "hash-49") == ()
    assert index._by_label[LABEL].keys() == {("team", "other")}
