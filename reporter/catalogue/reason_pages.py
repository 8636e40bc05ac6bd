"""Reasons that several kinds have alike, as a page of data; each kind puts its word before them."""

from collections.abc import Iterator, Mapping

from reporter.catalogue.reasons import outside_chain, row
from reporter.model.objects import KubeObject
from reporter.model.reason import EventType, Reason
from reporter.model.resource import Resource
from reporter.model.subject import RequestStage, SubjectKind
from reporter.yaml_reader.strict import FilePart


class ReasonData(FilePart, frozen=True):
    """A row of a page; `{word}` in its summary and action is filled in."""

    name: str
    summary: str
    trigger: str
    action: str
    silent: str = ""
    grace_note: str = ""
    grace_seconds: int | None = None
    stage: str = ""
    chain: bool = True
    type: EventType = EventType.WARNING


def reasons_of(
    rows: tuple[ReasonData, ...],
    of: SubjectKind,
    *,
    told: Mapping[str, str],
    reads: tuple[Resource[KubeObject], ...],
) -> Iterator[Reason]:
    """Yield the reasons of a kind, in the order of the page."""
    for each in rows:
        reason = row(
            f"{of}{each.name}",
            each.summary.format_map(told),
            of=of,
            trigger=each.trigger,
            silent=each.silent,
            action=each.action.format_map(told),
            reads=reads,
            grace_note=each.grace_note,
            grace_seconds=each.grace_seconds,
            stage=RequestStage[each.stage] if each.stage else None,
        )
        yield reason if each.chain else outside_chain(reason, each.type)
