"""Which objects are of a stack's kind, and yet not judged."""

from collections.abc import Iterable

from reporter.model.finding import KnownSubject
from reporter.model.report import Outside
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot


def outside_of(
    subjects: Iterable[KnownSubject], snapshot: Snapshot, settings: EvaluationSettings
) -> tuple[Outside, ...]:
    """Return the objects that are not judged, for stacks that judge only some of their kind.

    Args:
        subjects: what is judged.
        snapshot: the cluster.
        settings: which stacks are looked at.

    """
    known = [each.subject for each in subjects]
    found: list[Outside] = []
    for stack in settings.catalogue.stacks:
        if not stack.words.judged or settings.stack(stack.name) is StackMode.OFF:
            continue
        for resource in stack.subjects:
            kind = resource.subject_kind
            judged = {each[1:] for each in known if each.kind == kind}
            # Nearly all are judged: what is looked at is what is left.
            left = [
                place
                for place, each in snapshot[resource].objects.items()
                if place not in judged and not each.deleting
            ]
            if left:
                found.append(
                    Outside(resource.kind, len(left), "/".join(min(left)), stack.words.judged)
                )
    return tuple(found)
