"""Rule 9: what was changed shortly before a fault began.

An operator asks it first, and the answer is spread over histories that nobody keeps. Two sources
have a part of it: `managedFields` say who wrote what is wanted of an object last, and when
(Kubernetes documentation, "Server-Side Apply"); and what this process saw change itself says from
what to what.

Both are told as facts, for neither proves anything. The time of an entry moves with any write of
its manager, and controllers write as people do. Hence:

- Only what came before the fault is told, and not what somebody tried afterwards; and only what
  came shortly before. Nor is the creation of an object: a stack that has just been installed would
  have it on each line.
- Only of the object at fault, its subject, what made it, and what it names as its class or parent.
  All that was looked up for an answer is too much: a change of the Gateway stands next to no
  crashed pod.
- Of a Node only what was seen: its taints are written by controllers because of the fault.
- What was told stays while the episode lasts, word for word. A manager that writes again takes the
  time of its earlier write away, and a message that changes for that would be news about nothing.
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
from reporter.resolution.seen_changes import LATE, writes_of
from reporter.resolution.state import Candidate, PassState
from reporter.snapshot.snapshot import Snapshot

MOST: Final = 5
"""Changes that are told of one fault."""

_INACCURATE: Final = timedelta(seconds=1)
"""Times of the API are whole seconds."""

_GENERATIONS: Final = 4
"""How far up owners are followed: pod, StatefulSet, Workspace, InferenceSet."""

_ASKED: Final = frozenset({Disposition.FIRING, Disposition.PENDING, Disposition.HELD})


def changes_before(candidate: Candidate, state: PassState) -> tuple[SpecChange, ...]:
    """Return what changed shortly before the fault began; the one to tell comes first.

    What was found while it was in its grace stays in front, but for a field that was changed again.
    Once it fires with a change nothing is added to it, and after a while nobody looks any more:
    what came before a fault is known soon.
    """
    window = timedelta(seconds=state.settings.change_window_seconds)
    if (
        not window
        or candidate.reason.type is not EventType.WARNING
        or candidate.reason.name == BLIND
    ):
        return ()
    now, episode = state.now, candidate.episode
    # Where nobody knows when a fault began, it may have begun just now.
    began = candidate.since(now) if candidate.age_known(now) else now.wall
    first, last = began - window, began + _INACCURATE
    known = episode.shown.changes if episode else ()
    settled = False
    if episode and episode.fired:  # so a thousand causes that go on cost nothing
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
    """Yield the changes of each object that the verdict rests on, made between two times.

    First those that were seen, then who wrote last, unless that was seen too.
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
    """Return the object at fault, what made it, what it names, and the subject, each once."""
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
    """Yield what an object was made by, as far as it is read."""
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
            # They are not read; a Deployment names them after itself, with a hash behind.
            kind, name = r.DEPLOYMENTS.kind, name.rpartition("-")[0]
        for resource in catalogue.of_kind(kind):
            if owner := snapshot[resource].get(obj.namespace, name):
                yield resource, owner


def _named(obj: KubeObject) -> Iterator[ObjectRef]:
    """Yield what an object names as its class, its parents or its backends."""
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
