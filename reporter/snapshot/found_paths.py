"""What paths find in the objects of a dump, and whether the schema of the CRD has them."""

from collections.abc import Iterator, Sequence
from typing import Final

from reporter.model.paths import Steps, look
from reporter.model.text import clean, cut
from reporter.snapshot.documents import BrokenDocument, Document
from reporter.snapshot.dump_served import part

_SHOWN: Final = 60


def objects_in(documents: Sequence[Document | BrokenDocument]) -> Iterator[object]:
    """Yield the objects of documents, and of lists in them."""
    for each in documents:
        value = each.value if isinstance(each, Document) else None
        items = part(value, "items")
        yield from items if isinstance(items, list) else [value]


def of_kind(objects: Sequence[object], group: str, kind: str) -> list[object]:
    return [
        each
        for each in objects
        if part(each, "kind") == kind and str(part(each, "apiVersion")).rpartition("/")[0] == group
    ]


def told_of_path(objects: Sequence[object], steps: Steps, crd: object, *, read: bool) -> str:
    """Say in how many objects a path finds something, and what; and if no schema has it."""
    values = [first[1] for each in objects for first in list(look(each, steps))[:1]]
    said = [] if _in_schema(crd, steps) else ["not in the schema of its CRD"]
    if values:
        said.insert(0, f"in {len(values)}, such as {cut(clean(str(values[0])), _SHOWN)}")
    elif read and objects:
        said.insert(0, "never found")
    return "; ".join(said)


def _in_schema(crd: object, steps: Steps) -> bool:
    """Tell whether a field may be there by the schema of a version; true where none is known."""
    schemas = part(crd, "spec", "versions")
    versions = schemas if isinstance(schemas, list) else []
    known = [part(each, "schema", "openAPIV3Schema") for each in versions]
    return crd is None or any(_allows(each, steps) for each in known)


def _allows(schema: object, steps: Steps) -> bool:
    for step in steps:
        if not isinstance(schema, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
            return True
        inner = part(schema, "properties", step.name) if step.name else schema.get("items")
        schema = inner if inner is not None else schema.get("additionalProperties")
        if schema is None and step.name != "metadata":
            return False
    return True
