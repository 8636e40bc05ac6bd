"""What of a dump is only a part of what it was: documents that were cut off, and broken ones.

kubectl sorts keys, so that `kind` and `metadata` of a list stand behind its items: where they are
not there, neither is the end of the last item. Of a single object nothing tells that its end is
missing, but kubectl ends each line; what an editor or a person wrote need not.
"""

from dataclasses import dataclass
from typing import Final

from reporter.snapshot.documents import BrokenDocument, Document
from reporter.snapshot.dump_served import Json, part
from reporter.yaml_reader.reading import Ending

_OF_THE_SERVER: Final = ("creationTimestamp", "managedFields", "resourceVersion", "uid")

_MARKS: Final = frozenset({"apiVersion", "items", "kind"})


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of a document that is not whole.

    Attributes:
        items: what was complete of a list.
        unfinished: the object in which it ends, empty if nothing of it is left; None if what is
            left does not look like an object of Kubernetes at all.

    """

    items: tuple[object, ...] = ()
    unfinished: object = None


def remains_of(document: Document | BrokenDocument) -> Remains | None:
    """Return what is left of a document, None if it is whole."""
    if isinstance(document, BrokenDocument):
        return _remains_of_broken(document)
    value = document.value
    if not isinstance(value, dict):
        return None
    if "items" in value:
        return _remains_of_list(value, document.ending)
    is_cut = document.ending is Ending.RUN_INTO or (
        document.ending is Ending.OPEN and (_is_of_the_server(value) or _MARKS.issuperset(value))
    )
    return Remains(unfinished=value) if is_cut else None


def _remains_of_broken(document: BrokenDocument) -> Remains:
    items = part(document.part, "items")
    if isinstance(items, list):
        return Remains(tuple(items), document.unfinished or {})
    if isinstance(document.part, list) and document.part:
        *whole, last = document.part
        return Remains(tuple(whole), last) if _is_object(last) else Remains()
    return Remains(unfinished=document.part if _is_object(document.part) else None)


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and not _MARKS.isdisjoint(value)


def _remains_of_list(value: Json, ending: Ending) -> Remains | None:
    items = value["items"]
    entries = items if isinstance(items, list) else []
    *whole, last = entries or [{}]
    kind = value.get("kind")
    if not isinstance(kind, str) or not kind.endswith("List"):
        return Remains(tuple(whole), last)
    is_open = ending is Ending.OPEN and [*value][-1] == "items" and _is_of_the_server(last)
    is_cut = is_open or (ending is Ending.RUN_INTO and [*value][-1] == "items")
    return Remains(tuple(whole), last) if is_cut else None


def _is_of_the_server(value: object) -> bool:
    """Tell whether an API server wrote it: then kubectl printed it, with its line breaks."""
    return any(part(value, "metadata", each) for each in _OF_THE_SERVER)
