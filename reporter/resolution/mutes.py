"""Which mutes there are: annotations on the objects of the snapshot, read again in each pass."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from reporter.catalogue.resources import EVENTS, NAMESPACES
from reporter.model.catalogue import Catalogue
from reporter.model.finding import Finding
from reporter.model.objects import KubeObject
from reporter.model.report import Mute, MuteFault, ResolvedFinding
from reporter.model.subject import ObjectRef, Subject
from reporter.resolution.mute_text import Asked, Hints, asked
from reporter.snapshot.snapshot import Snapshot

FAULTS: Final = 1000
"""Most faults of mutes that a report lists."""

Place: TypeAlias = tuple[str, str, str, str]
"""Group, kind, namespace and name: an object, in whatever version it is written."""

_ON_EVENT: Final = (
    "an Event cannot be muted; mute the object at fault, its subject or its namespace"
)


@dataclass(frozen=True, slots=True)
class Mutes:
    """The mutes of one pass.

    Attributes:
        all: those that count, in the order of their objects.
        faults: what is wrong with annotations, in the same order.
        next_in: time until the first of them ends.

    """

    all: tuple[Mute, ...] = ()
    faults: tuple[MuteFault, ...] = ()
    next_in: timedelta | None = None
    _by_place: Mapping[Place, Mute] = field(default_factory=dict)
    _by_subject: Mapping[Subject, Mute] = field(default_factory=dict)

    def of(self, finding: Finding | ResolvedFinding) -> tuple[Mute, ...]:
        """Return what mutes a finding: on the object at fault, its subject, and the namespace."""
        if not self.all:
            return ()
        subject = finding.subject
        namespace = subject.namespace or finding.related.namespace
        carriers = (
            self._by_place.get(_place(finding.related)),
            self._by_subject.get(subject),
            self._by_place.get(_place(NAMESPACES.ref_named("", namespace))),
        )
        found = (mute for mute in carriers if mute and finding.reason in mute.reasons)
        return tuple(dict.fromkeys(found))


def find_mutes(
    snapshot: Snapshot, before: Iterable[Mute], now: datetime, *, catalogue: Catalogue
) -> Mutes:
    """Return the mutes that the objects of a snapshot carry.

    Args:
        snapshot: the cluster.
        before: those of the pass before; one whose object cannot be read now goes on.
        now: the time of day, which ends mutes.
        catalogue: the reasons that there are.

    """
    found: dict[Place, Mute] = {}
    faults: set[MuteFault] = set()
    subjects: dict[Subject, Mute] = {}
    for ref, said in _asked(snapshot, now, catalogue):
        faults.update(MuteFault(ref, text) for text in said.faults)
        if said.reasons:
            found[_place(ref)] = Mute(ref, said.reasons, said.until)
    for mute in before:
        place = _place(mute.object)
        ends = mute.until is not None and mute.until <= now
        if place not in found and not ends and not _is_readable(mute.object, snapshot):
            found[place] = mute
    for resource in snapshot.states:
        if resource.subject_kind is not None:
            for place, mute in found.items():
                if place[:2] == (resource.group, resource.kind):
                    subjects[Subject(resource.subject_kind, *place[2:])] = mute
    ends_in = (mute.until - now for mute in found.values() if mute.until is not None)
    return Mutes(
        all=tuple(sorted(found.values(), key=lambda mute: mute.object)),
        faults=tuple(sorted(faults)[:FAULTS]),
        next_in=min(ends_in, default=None),
        _by_place=found,
        _by_subject=subjects,
    )


def _asked(
    snapshot: Snapshot, now: datetime, catalogue: Catalogue
) -> Iterator[tuple[ObjectRef, Asked]]:
    """Yield what each object asks for, in the order of the objects.

    The first have hints. Once there are more faults than a report lists, no more are looked for.
    """
    hints = Hints(catalogue)
    faults = 0
    carriers = {
        resource.ref(obj): (resource, obj.metadata.annotations)
        for resource in snapshot.tables
        for obj in snapshot[resource].showing(_mutes)
    }
    for ref in sorted(carriers):
        resource, annotations = carriers[ref]
        if resource is EVENTS:
            yield ref, Asked(faults=(_ON_EVENT,))
        elif annotations is not None:
            said = asked(annotations, now, catalogue, hints=hints if faults < FAULTS else None)
            faults += len(set(said.faults))
            yield ref, said


def _mutes(obj: KubeObject) -> bool:
    return obj.metadata.annotations is not None and obj.metadata.annotations.mutes


def _is_readable(ref: ObjectRef, snapshot: Snapshot) -> bool:
    """Tell whether the snapshot has an object, knows that it is gone, or has its kind no more.

    Some kinds are read twice, the second time those of a stack alone: that there is no such stack
    says nothing of the others.
    """
    group, kind, namespace, name = _place(ref)
    tables = [each for each in snapshot.states if (each.group, each.kind) == (group, kind)]
    return any(snapshot[each].get(namespace, name) is not None for each in tables) or all(
        snapshot.absence_known(each, namespace, name) for each in tables
    )


def _place(ref: ObjectRef) -> Place:
    return (ref.api_version.rpartition("/")[0], ref.kind, ref.namespace, ref.name)
