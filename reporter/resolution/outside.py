"""Which objects are of a stack's kind, and yet not judged."""

from collections.abc import Iterable, Iterator

from reporter.model.finding import KnownSubject
from reporter.model.objects import KubeObject
from reporter.model.report import Outside
from reporter.model.resource import Resource
from reporter.model.stack import StackRows
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot


def outside_of(
    subjects: Iterable[KnownSubject], snapshot: Snapshot, settings: EvaluationSettings
) -> tuple[Outside, ...]:
    """Return the objects that are not judged: of kinds that are not, or that are only in part.

    Args:
        subjects: what is judged.
        snapshot: the cluster.
        settings: which stacks are looked at.

    """
    known = [each.subject for each in subjects]
    found: list[Outside] = []
    for stack, resource in _looked_at(settings):
        kind = resource.subject_kind
        judged = {each[1:] for each in known if each.kind == kind}
        # Nearly all are judged: what is looked at is what is left.
        left = [
            place
            for place, each in snapshot[resource].objects.items()
            if place not in judged and not each.deleting
        ]
        if left:
            which = "" if resource.unjudged else stack.words.judged
            found.append(Outside(resource.kind, len(left), "/".join(min(left)), which))
    return tuple(found)


def tables_of_stacks(snapshot: Snapshot, settings: EvaluationSettings) -> Iterator[object]:
    """Yield what the answer rests on besides the subjects: tables, and whether they are served."""
    for _, resource in _looked_at(settings):
        yield snapshot.tables.get(resource)
        yield snapshot.state(resource).served


def _looked_at(settings: EvaluationSettings) -> Iterator[tuple[StackRows, Resource[KubeObject]]]:
    """Yield the resources of which not all is judged."""
    for stack in settings.catalogue.stacks:
        if settings.stack(stack.name) is StackMode.OFF:
            continue
        for resource in stack.resources:
            if resource.unjudged or (resource.subject_kind and stack.words.judged):
                yield stack, resource
