"""One object of what two lists of a kind hold of it, where one of them has a label to select by."""

from typing import Final

from reporter.catalogue.resources import BY_PLACE
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.snapshot.outputs.pruning import Json

_NO_COPY: Final[Json] = {}


def join_lists(objects: dict[Resource[KubeObject], list[Json]]) -> None:
    """Put all fields that were read of an object into the list of its kind without a label.

    Two copies would be two statements. Where an object changed between the lists, the plain one counts.
    """
    plain = {(each.group, each.kind): each for each in objects if not each.label_selector}
    for resource in [each for each in objects if each.label_selector]:
        other = plain.get((resource.group, resource.kind))
        if other is None or other in BY_PLACE:
            continue
        selected = {_identity(each): each for each in objects[resource]}
        objects[other] = [
            _joined_copies(each, selected.get(_identity(each), _NO_COPY)) for each in objects[other]
        ]
        objects[resource] = []


def _identity(item: Json) -> tuple[str, ...]:
    metadata = item.get("metadata")
    meta = metadata if isinstance(metadata, dict) else {}
    return tuple(str(meta.get(key) or "") for key in ("namespace", "name", "resourceVersion"))


def _joined_copies(one: Json, other: Json) -> Json:
    return {
        key: _joined(one[key], other[key]) if key in one and key in other else each
        for key, each in {**one, **other}.items()
    }


def _joined(one: object, other: object) -> object:
    if isinstance(one, dict) and isinstance(other, dict):
        return _joined_copies(one, other)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [_joined(*each) for each in zip(one, other, strict=True)]
    return one
