"""Objects with writes, changes that were seen, and a fault that came later."""

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.instant import rfc3339
from reporter.model.objects import Deployment, ManagerEntry, Metadata
from reporter.model.objects.base import OwnerReference
from reporter.model.report import Disposition, SpecChange
from reporter.resolution.grace import ZERO
from reporter.resolution.memory import Episode
from reporter.resolution.recent_changes import changes_before
from reporter.resolution.seen_changes import SeenChange, SeenChanges
from reporter.resolution.state import Candidate
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.snapshot.table import table_of
from reporter.stacks import BUILT_IN
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.resolution.building import (
    NOON,
    START,
    fault_of,
    finding,
    line_of,
    pass_state,
    seconds,
)

EPP = "inferencesetEPPNotReady"
WEB = DEPLOYMENTS.ref_named("demo", "web")
"""The object at fault."""


def at(second):
    """So many seconds after the fault began."""
    return NOON + seconds(second)


def metadata(name, *, namespace="demo", written=(), owners=()):
    """Metadata of an object that was written at some seconds and has owners."""
    entries = tuple(
        ManagerEntry(manager=f"writer{number}", operation="Update", time=rfc3339(at(second)))
        for number, second in enumerate(written)
    )
    return Metadata(
        name=name,
        namespace=namespace,
        owner_references=tuple(OwnerReference(kind=kind, name=owner) for kind, owner in owners)
        or None,
        managed_fields=entries or None,
    )


def deployment(name="web", **fields):
    """A Deployment, as a resource and its object."""
    return DEPLOYMENTS, Deployment(metadata=metadata(name, **fields))


def change(second, ref=WEB, *, by="", field="spec.replicas", before="1", after="0"):
    """A change at some second."""
    return SpecChange(object=ref, at=at(second), by=by, field=field, before=before, after=after)


def seen(second, ref=WEB, *, since=None, **fields):
    """The change as it was seen; `since` is when the object was last seen without it."""
    return SeenChange(change(second, ref, **fields), at(second if since is None else since))


def candidate(
    *known,
    related=WEB,
    reason=BUILT_IN[EPP],
    disposition=Disposition.FIRING,
    fired=None,
    age_known=True,
    **fields,
):
    """A fault that began at noon with known changes; `fired`: its episode has fired."""
    says = finding(EPP, related=related, **fields)
    fault = fault_of(says, age_known=age_known)
    shown = line_of(says, type=reason.type, disposition=disposition, changes=known)
    episode = (
        None
        if fired is None
        else Episode(since=NOON, last_seen=ZERO, fired=fired, listed=True, shown=shown, faults={})
    )
    return Candidate(says.key, reason, (fault,), episode, disposition)


def told(one, *parts, now=60, settings=None):
    """The changes reported for a candidate, from what was seen and what exists."""
    tables = {}
    for resource, obj in (each for each in parts if isinstance(each, tuple)):
        tables.setdefault(resource, []).append(obj)
    snapshot = Snapshot(
        tables={resource: table_of(objects) for resource, objects in tables.items()},
        states={resource: ResourceState(Served.SERVED) for resource in tables},
    )
    state = pass_state(
        snapshot=snapshot,
        now=START.after(now),
        settings=settings or FullEvaluationSettings(),
        changes=SeenChanges(tuple(each for each in parts if isinstance(each, SeenChange))),
    )
    return changes_before(one, state)
