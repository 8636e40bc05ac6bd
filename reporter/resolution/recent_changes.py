"""Rule 9: what was changed shortly before a fault began.

It is the first question of an operator, and the answer is spread over histories that nobody keeps.
Two sources have part of it: `managedFields` say who last wrote an object's desired state, and when
(Kubernetes documentation, "Server-Side Apply"); and the changes that this process saw have the old
and new values.

Both are reported as facts, as neither proves anything. The time of an entry moves with any write of
its manager, and controllers write as people do. Hence:

- Only changes shortly before the fault are reported, not attempts to repair it. The creation of an
  object is not a change: every line of a freshly installed stack would have it.
- Only changes of the object at fault, its subject, its owners, and its class or parents are
  reported. Everything that was read for a verdict would be too much: a change of the Gateway does
  not belong next to a crashed pod.
- For a Node, only seen changes count: controllers write its taints because of the fault.
- A reported change stays the same, word for word, while the episode lasts. A manager that writes
  again overwrites the time of its earlier write; a changed message would be false news.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.catalogue import Catalogue
from reporter.model.objects import Gateway, HttpRoute, KubeObject
from reporter.model.reason import EventType
from reporter.model.report import BLIND, Disposition, SpecChange
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef
from reporter.resolution.seen_changes import LATE, WINDOW, writes_of
from reporter.resolution.state import Candidate, PassState
from reporter.snapshot.snapshot import Snapshot

MOST: Final = 5
"""Maximum changes reported for one fault."""

_INACCURATE: Final = timedelta(seconds=1)
"""Times of the API are whole seconds."""

_GENERATIONS: Final = 4
"""How far up owners are followed: pod, StatefulSet, Workspace, InferenceSet."""

_ASKED: Final = frozenset({Disposition.FIRING, Disposition.PENDING, Disposition.HELD})


def changes_before(candidate: Candidate, state: PassState) -> tuple[SpecChange, ...]:
    """Return the changes shortly before the fault began, the one for the message first.

    Changes that were found during the grace stay first, unless the same field was changed again.
    Once a fault fires with a change, no changes are added, and after a while none are searched:
    what came before a fault is known soon.
    """
    if candidate.reason.type is not EventType.WARNING or candidate.reason.name == BLIND:
        return ()
    now, episode = state.now, candidate.episode
    # A fault whose start is unknown may have begun just now.
    began = candidate.since(now) if candidate.age_known(now) else now.wall
    first, last = began - WINDOW, began + _INACCURATE
    known = episode.shown.changes if episode else ()
    settled = False
    if episode and episode.fired:  # a thousand lasting causes must cost nothing
        settled = bool(known) or now.wall - episode.since > LATE
    else:
        known = tuple(each for each in known if first <= each.at <= last)
    if candidate.disposition not in _ASKED or len(known) == MOST or settled:
        return known
    signed = {(each.object.place, each.at) for each in known}
    seen = {(each.object.place, each.field, each.before, each.after) for each in known}
    fresh = [
        each
        for each in _found(candidate, state, first=first, last=last)
        if (each.object.place, each.at) not in signed
        and (each.object.place, each.field, each.before, each.after) not in seen
    ]
    was = {(each.object.place, each.field): each.at for each in reversed(known)}
    again = [each for each in fresh if was.get((each.object.place, each.field), each.at) < each.at]
    return (*again, *known, *(each for each in fresh if each not in again))[:MOST]


def _found(
    candidate: Candidate, state: PassState, *, first: datetime, last: datetime
) -> Iterator[SpecChange]:
    """Yield the changes between two times of each object that the verdict depends on.

    For each object, seen changes come first, then the last write unless it was seen.
    """
    for ref in _rests_on(candidate, state):
        seen = [
            each.change
            for each in state.changes.by_place.get(ref.place, ())
            if first <= each.change.at and each.earliest <= last
        ]
        seen.sort(key=lambda each: each.at, reverse=True)
        yield from seen
        obj = None if ref.kind == r.NODES.kind else _object(ref, state)
        writes = [each for each in writes_of(obj) if first <= each.at <= last] if obj else []
        if writes and writes[-1].at not in {each.at for each in seen}:
            yield SpecChange(object=ref, at=writes[-1].at, by=writes[-1].by)


def _rests_on(candidate: Candidate, state: PassState) -> tuple[ObjectRef, ...]:
    """Return the object at fault, its owners, its class or parents, and the subject, each once."""
    says, subject = candidate.worst.says, candidate.key.subject
    refs = [says.related]
    if obj := _object(says.related, state):
        refs += _makers(obj, state.snapshot, state.catalogue)
        refs += _named(obj)
    refs += (
        each.ref_named(subject.namespace, subject.name)
        for each in state.catalogue.of_subject(subject.kind)
    )
    return tuple({each.place: each for each in refs}.values())


def _object(ref: ObjectRef, state: PassState) -> KubeObject | None:
    for resource in state.catalogue.of_kind(ref.kind, ref.group):
        if obj := state.snapshot[resource].get(ref.namespace, ref.name):
            return obj
    return None


def _makers(obj: KubeObject, snapshot: Snapshot, catalogue: Catalogue) -> Iterator[ObjectRef]:
    """Yield the owners of an object, and their owners, that the reporter reads."""
    generation = [obj]
    for _ in range(_GENERATIONS):
        owners = [owner for each in generation for owner in _owners(each, snapshot, catalogue)]
        yield from (resource.ref(owner) for resource, owner in owners)
        generation = [owner for _, owner in owners]


def _owners(
    obj: KubeObject, snapshot: Snapshot, catalogue: Catalogue
) -> Iterator[tuple[Resource[KubeObject], KubeObject]]:
    for reference in obj.metadata.owner_references or ():
        kind, name = reference.kind, reference.name
        if kind == "ReplicaSet":
            # ReplicaSets are not read; their names are the Deployment's name and a hash.
            kind, name = r.DEPLOYMENTS.kind, name.rpartition("-")[0]
        for resource in catalogue.of_kind(kind):
            if owner := snapshot[resource].get(obj.namespace, name):
                yield resource, owner


def _named(obj: KubeObject) -> Iterator[ObjectRef]:
    """Yield the class, the parents or the backends that an object references."""
    match obj:
        case Gateway():
            yield r.GATEWAYCLASSES.ref_named("", obj.spec.gateway_class_name)
        case HttpRoute():
            for parent in obj.spec.parent_refs or ():
                yield r.GATEWAYS.ref_named(parent.namespace or obj.namespace, parent.name)
            for rule in obj.spec.rules or ():
                for backend in rule.backend_refs or ():
                    place = backend.namespace or obj.namespace
                    yield r.INFERENCEPOOLS.ref_named(place, backend.name)
        case _:
            pass
