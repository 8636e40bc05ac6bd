"""What to type to look at the object that a finding means. It follows from the finding alone."""

from collections.abc import Iterator
from functools import lru_cache

from reporter.model.catalogue import Catalogue
from reporter.model.commands import commands_for, conditions_command, is_name
from reporter.model.subject import ObjectRef, Subject
from reporter.resolution.candidate import Candidate


def finding_commands(candidate: Candidate, catalogue: Catalogue) -> tuple[str, ...]:
    """Return two to five commands: the object at fault first, then what belongs to the reason."""
    says = candidate.worst.says
    key = candidate.key
    return _commands(
        says.related,
        key.subject,
        about=says.about,
        reason=key.reason,
        of=catalogue,
        mend=says.diagnosis.object if says.diagnosis else None,
        started=says.started,
    )


@lru_cache(maxsize=16_384)
def _commands(
    at_fault: ObjectRef,
    subject: Subject,
    *,
    about: str,
    reason: str,
    of: Catalogue,
    mend: ObjectRef | None,
    started: bool,
) -> tuple[str, ...]:
    more = _of_reason(at_fault, subject, reason=reason, of=of)
    return commands_for(at_fault, more, about=about, mend=mend, started=started)


def _of_reason(
    at_fault: ObjectRef, subject: Subject, *, reason: str, of: Catalogue
) -> Iterator[str]:
    row = of[reason]
    if all(map(is_name, filter(None, (subject.namespace, subject.name)))):
        for command in row.look:
            yield command.replace("<namespace>", subject.namespace).replace("<name>", subject.name)
        if row.window_seconds is not None and at_fault.kind == "Pod" and is_name(at_fault.name):
            yield f"status-reporter status --pod {at_fault.namespace}/{at_fault.name}"
    for resource in of.of_subject(subject.kind)[:1]:
        own = conditions_command(resource.ref_named(subject.namespace, subject.name))
        if own:
            yield own
