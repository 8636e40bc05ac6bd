"""`check --with FILE`: the same look, as if manifests had just been applied.

Controllers have not acted then, so that the status of what is new or changed says nothing of it. A
finding that the manifests bring counts as lasting if it follows from specs and from what exists: a
reference that leads nowhere, a maximum below a minimum. Any other about such an object begins now,
and is pending; and nothing is ready, or serves, that has not settled.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from reporter.errors import UsageError
from reporter.model.finding import Evaluation, Finding
from reporter.model.report import Report
from reporter.model.subject import ObjectRef, Subject
from reporter.model.text import clean
from reporter.snapshot.documents import (
    BrokenDocument,
    Document,
    DumpError,
    read_documents,
    sources_of,
)
from reporter.snapshot.inputs.reading import STDIN

_Said: TypeAlias = tuple[str, Subject, ObjectRef, str]


@dataclass(frozen=True, slots=True)
class Manifests:
    """What is to be applied, and where it is from, for the first line of a report."""

    documents: tuple[object, ...]
    title: str


def read_manifests(paths: Iterable[str]) -> Manifests | None:
    """Read the files of `--with`. What is left out would look as if it did no harm, so that none
    is.
    """
    files = tuple(paths)
    if not files:
        return None
    documents: list[object] = []
    try:
        for document in read_documents(sources_of(files)):
            match document:
                case Document(value=value):
                    documents.append(value)
                case BrokenDocument(source=source, cause=cause):
                    raise UsageError(f"--with: {source}: {cause}")
    except DumpError as error:
        raise UsageError(f"--with: {error}") from None
    names = ("standard input" if each == STDIN else Path(each).name or each for each in files)
    return Manifests(tuple(documents), f"with {', '.join(names)}")


def unsettled_evaluation(
    before: Evaluation, after: Evaluation, unsettled: frozenset[ObjectRef], *, now: datetime
) -> Evaluation:
    """Return what is said after applying, without what only a status can say that has not followed."""
    known = {_said(each) for each in before.findings}
    names = {(ref.kind.lower(), ref.namespace, ref.name) for ref in unsettled}
    subjects = frozenset(each.subject for each in after.subjects if tuple(each.subject) in names)
    return replace(
        after,
        findings=tuple(
            each if _said(each) in known else _placed(each, unsettled, subjects, now=now)
            for each in after.findings
        ),
        ready=tuple(each for each in after.ready if each.subject not in subjects),
        serving=tuple(each for each in after.serving if each.subject not in subjects),
    )


def differences(before: Report, after: Report) -> Iterator[str]:
    old = {each.key: each for each in before.findings}
    new = {each.key: each for each in after.findings}
    brought = [new[key] for key in sorted(new.keys() - old.keys())]
    if brought:
        told = (
            f"{each.reason} of {clean(str(each.subject))} ({each.disposition})" for each in brought
        )
        yield f"This brings {', '.join(told)}."
    gone = [old[key] for key in sorted(old.keys() - new.keys())]
    if gone:
        told = (f"{each.reason} of {clean(str(each.subject))}" for each in gone)
        yield f"Not told any more: {', '.join(told)}."
    if not brought and not gone:
        yield "This brings no finding and takes none away."


def _placed(
    finding: Finding,
    unsettled: frozenset[ObjectRef],
    subjects: frozenset[Subject],
    *,
    now: datetime,
) -> Finding:
    """Return a finding that the manifests bring, with its place in time."""
    if finding.by_spec or (finding.exempt and finding.transition is None):
        # It cannot heal by waiting, so that it counts as old enough.
        return replace(finding, created=None, transition=None)
    if finding.related in unsettled or finding.subject in subjects:
        return replace(finding, created=now, transition=now, exempt=False)
    return finding


def _said(finding: Finding) -> _Said:
    return finding.reason, finding.subject, finding.related, finding.cause
