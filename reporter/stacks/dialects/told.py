"""What dialects find in the objects of a dump: each path, where it was never found, and the CRD's schema."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from reporter.errors import UsageError
from reporter.model.text import clean, cut
from reporter.snapshot.documents import Document, read_inputs, sources_of
from reporter.snapshot.inputs.limits import DumpError
from reporter.stacks.dialects.paths import KEY, PathStep, look
from reporter.stacks.dialects.reading import ApiKind, Dialect, at_object, holds, is_model

_SHOWN: Final = 60


def told_of(dialects: Iterable[Dialect], sources: Sequence[str]) -> Iterator[str]:
    """Yield lines about dialects, and about what their paths find in a dump where there is one."""
    try:
        inputs = tuple(read_inputs(sources_of(sources)))
    except DumpError as error:
        raise UsageError(f"--from: {error}") from None
    documents = [each for one in inputs for each in _objects(one)]
    for dialect in dialects:
        kind = dialect.kind
        objects = _of_kind(documents, kind)
        yield f"{kind.kind} of {dialect.project}: {kind.plural}.{kind.group}, subject {dialect.subject_kind}"
        for name, reads in _reads(dialect).items():
            of = dialect.also_reads[name].kind if name else kind
            there = _of_kind(documents, of)
            schema = next((each for each in documents if _is_crd(each, of)), None)
            yield (
                f"  {of.kind}{f' ({name})' if name else ''}: {len(there)} in the dump"
                if sources
                else f"  {of.kind}"
            )
            for text, steps in sorted(reads.items()):
                yield f"    {text:60}  {_found(there, steps, schema, read=bool(sources))}".rstrip()
        for each in objects if sources else ():
            if not is_model(dialect, each):
                yield f"  {_name(each)} is no model: {_why(dialect, each)}"


def _reads(dialect: Dialect) -> Mapping[str, dict[str, tuple[PathStep, ...]]]:
    """Return the steps of each path by the object that it is of, and its text."""
    found: dict[str, dict[str, tuple[PathStep, ...]]] = {}
    for (of, base), path in dialect.paths():
        for way in path.ways:
            if way.root != KEY:
                steps = way.steps if way.root else (*base, *way.steps)
                found.setdefault(way.root or of, {})["".join(map(str, steps))] = steps
    return dict(sorted(found.items()))


def _found(objects: list[object], steps: tuple[PathStep, ...], crd: object, *, read: bool) -> str:
    values = [first[1] for each in objects for first in list(look(each, steps))[:1]]
    said = [] if _in_schema(crd, steps) else ["not in the schema of its CRD"]
    if read and objects and not values:
        said.insert(0, "never found")
    elif values:
        said.insert(0, f"in {len(values)}, such as {cut(clean(str(values[0])), _SHOWN)}")
    return "; ".join(said)


def _in_schema(crd: object, steps: tuple[PathStep, ...]) -> bool:
    """Tell whether a field may be there by the schema of any version; true where that is not known."""
    if crd is None:
        return True
    schemas = _part(crd, "spec", "versions")
    versions = schemas if isinstance(schemas, list) else []
    return any(_allows(_part(each, "schema", "openAPIV3Schema"), steps) for each in versions)


def _allows(schema: object, steps: tuple[PathStep, ...]) -> bool:
    for step in steps:
        if not isinstance(schema, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
            return True
        inner = _part(schema, "properties", step.name) if step.name else schema.get("items")
        schema = inner if inner is not None else schema.get("additionalProperties")
        if schema is None and step.name != "metadata":
            return False
    return True


def _part(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _objects(document: object) -> Iterator[object]:
    value = document.value if isinstance(document, Document) else None
    items = _part(value, "items")
    yield from items if isinstance(items, list) else [value]


def _of_kind(documents: list[object], kind: ApiKind) -> list[object]:
    return [
        each
        for each in documents
        if _part(each, "kind") == kind.kind
        and str(_part(each, "apiVersion")).rpartition("/")[0] == kind.group
    ]


def _is_crd(document: object, kind: ApiKind) -> bool:
    is_one = _part(document, "kind") == "CustomResourceDefinition"
    return is_one and _part(document, "metadata", "name") == f"{kind.plural}.{kind.group}"


def _name(document: object) -> str:
    return clean(
        f"{_part(document, 'metadata', 'namespace')}/{_part(document, 'metadata', 'name')}"
    )


def _why(dialect: Dialect, document: object) -> str:
    held = (each for each in dialect.not_a_model if holds(each, at_object(each.at, document)))
    return next((each.why for each in held if each.why), "its file says so")
