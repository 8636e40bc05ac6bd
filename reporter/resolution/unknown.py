"""Unknown is neither healthy nor a fault; and no verdict rests on unconfirmed data."""

from collections.abc import Iterable

from reporter.catalogue.reasons import CLUSTER_CRD_MISSING
from reporter.catalogue.resources import EVENTS, NAMESPACES
from reporter.model.catalogue import Catalogue
from reporter.model.finding import FindingKey
from reporter.model.reason import Reason
from reporter.model.report import UnknownResource
from reporter.model.subject import CLUSTER_KIND, ObjectRef, Subject
from reporter.snapshot.snapshot import Served, Snapshot


def unknown_resources(snapshot: Snapshot) -> tuple[UnknownResource, ...]:
    """Return every resource that could not be read, or not all of it, sorted."""
    unknown = {
        UnknownResource(str(resource), state.cause)
        for resource, state in snapshot.states.items()
        if state.served is Served.UNKNOWN
    }
    unknown |= {UnknownResource(name, cause) for name, cause in snapshot.incomplete.items()}
    read = {str(resource) for resource in snapshot.states} - snapshot.incomplete.keys()
    for each in snapshot.skipped:
        if each.resource in read and not each.name:
            place = f" of namespace {each.namespace}" if each.namespace else ""
            cause = f"an object{place} has no readable name"
            unknown.add(UnknownResource(each.resource, cause))
    return tuple(sorted(unknown))


def skipped_subjects(snapshot: Snapshot) -> set[Subject]:
    """Return the subjects that exist and of which nothing else is known: they are malformed."""
    kinds = {str(each): each.subject_kind for each in snapshot.states if each.subject_kind}
    return {
        Subject(kinds[each.resource], each.namespace, each.name)
        for each in snapshot.skipped
        if each.resource in kinds and each.name
    }


def verdict_unknown(
    key: FindingKey, at_fault: Iterable[ObjectRef], snapshot: Snapshot, *, catalogue: Catalogue
) -> bool:
    """Tell whether something is unknown that this key's reason reads about the objects at fault.

    One that is skipped as malformed is no better for that.
    """
    if key.involved.kind == "CustomResourceDefinition":
        return snapshot.discovery.state(key.involved.name) is Served.UNKNOWN
    objects = tuple(at_fault)
    reads = catalogue[key.reason].reads_of({each.kind for each in objects})
    if not all(map(snapshot.known, reads)):
        return True
    return any(snapshot.skips(resource, each) for resource in reads for each in objects)


def reads_unknown(reason: Reason, snapshot: Snapshot) -> bool:
    """Tell whether something is unknown that all findings of a reason read."""
    return not all(snapshot.known(resource) for resource in reason.reads)


def confirmed(reason: str, snapshot: Snapshot, catalogue: Catalogue) -> bool:
    """Tell whether a verdict on a reason may change.

    Besides what it reads, what its upstreams read has to be confirmed: else a symptom could be
    told before its cause. What may not be read is not waited for: it is unknown, and an unknown
    upstream neither holds nor suppresses.
    """
    if reason == CLUSTER_CRD_MISSING and not snapshot.discovery.confirmed:
        return False
    return not any(snapshot.state(resource).awaited for resource in catalogue.rests_on(reason))


def records_known(snapshot: Snapshot) -> bool:
    """Tell whether our own Events could be read."""
    return snapshot.known(EVENTS)


def existence_known(subject: Subject, snapshot: Snapshot, catalogue: Catalogue) -> bool:
    """Tell whether a subject that is not among the known ones is gone."""
    if subject.kind == CLUSTER_KIND:
        return False
    return snapshot.absence_known(NAMESPACES, name=subject.namespace) and all(
        snapshot.absence_known(each, subject.namespace, subject.name)
        for each in catalogue.of_subject(subject.kind)
    )
