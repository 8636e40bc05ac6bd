"""Describes what dialects read, and what their paths find in a dump."""

from collections.abc import Iterable, Iterator, Sequence

from reporter.errors import UsageError
from reporter.model.text import clean
from reporter.snapshot.documents import (
    describe_path,
    objects_in,
    of_kind,
    read_documents,
    sources_of,
)
from reporter.snapshot.dump_served import part
from reporter.snapshot.inputs.files import DumpError
from reporter.stacks.dialects.reading import Dialect, none_because


def describe(dialects: Iterable[Dialect], sources: Sequence[str]) -> Iterator[str]:
    """Yield lines about dialects, and about what their paths find in a dump, if one is given."""
    try:
        objects = list(objects_in(list(read_documents(sources_of(sources)))))
    except DumpError as error:
        raise UsageError(f"--from: {error}") from None
    crds = {
        part(each, "metadata", "name"): each
        for each in of_kind(objects, "apiextensions.k8s.io", "CustomResourceDefinition")
    }
    for dialect in dialects:
        kind = dialect.kind
        yield f"{kind.kind} of {dialect.project}: {kind.crd}, subject {dialect.subject_kind}"
        reads = set(dialect.reads())
        for name in sorted({of for of, _ in reads}):
            of = dialect.also_reads[name].kind if name else kind
            there = of_kind(objects, of.group, of.kind)
            count = f": {len(there)} in the dump" if sources else ""
            yield f"  {of.kind}{f' ({name})' if name else ''}{count}"
            steps = {"".join(map(str, each)): each for whose, each in reads if whose == name}
            for text in sorted(steps):
                found = describe_path(there, steps[text], crds.get(of.crd), read=bool(sources))
                yield f"    {text:60}  {found}".rstrip()
        for each in of_kind(objects, kind.group, kind.kind):
            if match := none_because(dialect, each):
                place = f"{part(each, 'metadata', 'namespace')}/{part(each, 'metadata', 'name')}"
                yield f"  {clean(place)} is not a model: {match.why or 'its file says so'}"
