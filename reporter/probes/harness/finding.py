"""What all findings of the harness layer have in common."""

from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue.resources import NAMESPACES
from reporter.model.finding import Diagnosis, Finding
from reporter.model.objects import Namespace
from reporter.model.subject import ObjectRef, Subject
from reporter.model.text import clean, cut

_CAUSE_BYTES: Final = 100


def harness_finding(
    reason: str,
    namespace: Namespace,
    related: ObjectRef,
    *,
    text: str,
    cause: str,
    severity: int = 0,
    transition: datetime | None = None,
    created: datetime | None = None,
    budget: timedelta | None = None,
    independent: bool = False,
    passing: bool = False,
    lost_node: str = "",
    by_spec: bool = False,
    diagnosis: Diagnosis | None = None,
    started: bool = True,
) -> Finding:
    """Return a finding about a workload namespace; the message names the object at fault first.

    `text` goes on from there, such as `was not programmed: <cause>`.
    """
    return Finding(
        reason=reason,
        subject=Subject.of_namespace(namespace.name),
        involved=NAMESPACES.ref(namespace),
        related=related,
        message=clean(f"{related} {text}"),
        cause=cut(clean(cause), _CAUSE_BYTES),
        severity=severity,
        transition=transition,
        created=created,
        budget=budget,
        independent=independent,
        passing=passing,
        lost_node=lost_node,
        by_spec=by_spec,
        diagnosis=diagnosis,
        started=started,
    )
