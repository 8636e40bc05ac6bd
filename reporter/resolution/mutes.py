"""Read mutes from the annotations of the snapshot's objects, and find faulty annotations."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from reporter.catalogue.resources import EVENTS, NAMESPACES
from reporter.model.catalogue import Catalogue
from reporter.model.finding import Finding
from reporter.model.instant import parse_rfc3339, rfc3339
from reporter.model.objects import MUTE, MUTE_UNTIL, Annotations, KubeObject
from reporter.model.report import Mute, MuteFault, ResolvedFinding
from reporter.model.subject import ObjectRef, Place, Subject
from reporter.model.text import clean, cut
from reporter.snapshot.snapshot import Snapshot

_SHOWN_BYTES: Final = 80
LONGEST: Final = 8192
"""Maximum characters read of one annotation; the names of 300 reasons take as many."""

IN_NAMESPACE: Final = 8 * LONGEST
"""Maximum characters of different mutes read in a pass of the objects of a namespace together.

A tenant may annotate thousands of objects, and every pass reads them.
"""

_NAMED: Final = 5
"""Maximum wrong names of one annotation that are listed one by one."""

HINTS: Final = 100
"""Maximum wrong names in a pass for which a similar reason is searched."""

_SIMILAR: Final = 0.7


class Hints:
    """Suggests reasons for wrong names, for a limited number of names per pass.

    A tenant can annotate thousands of objects, each with different names.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._names: set[str] = set()

    def of(self, name: str) -> str:
        """Return a hint to append to the fault, or an empty string."""
        if len(self._names) < HINTS:
            self._names.add(name)
        return _hint(name, self._catalogue) if name in self._names else ""


@dataclass(frozen=True, slots=True)
class MuteRequest:
    """The request of one object: the reasons that are muted now, sorted, and when the mute ends.

    `reasons` is empty if the mute is invalid or over.
    """

    reasons: tuple[str, ...] = ()
    until: datetime | None = None
    faults: tuple[str, ...] = ()


def read_mute(
    annotations: Annotations, now: datetime, catalogue: Catalogue, *, hints: Hints | None
) -> MuteRequest:
    """Read the mute in the annotations of one object at `now`.

    With an invalid end time nothing is muted: a mute that was meant to end must not last for ever.
    Wrong names do not affect the right ones; without `hints`, wrong names are not reported.
    """
    if annotations.mute is None:
        return MuteRequest(faults=(f"{MUTE_UNTIL} without {MUTE} mutes nothing",))
    named = _named(annotations.mute, catalogue, hints)
    if annotations.mute_until is None:
        return named
    try:
        until = parse_rfc3339(annotations.mute_until.strip())
    except (ValueError, OverflowError):
        fault = (
            f"{MUTE_UNTIL} {_quoted(annotations.mute_until)} is not a time like "
            "2026-11-20T12:00:00Z, so nothing is muted"
        )
        return MuteRequest(faults=(*named.faults, fault))
    if until <= now:
        fault = f"the mute ended at {rfc3339(until)} and mutes nothing any more"
        return MuteRequest(faults=(*named.faults, fault))
    return replace(named, until=until)


def _named(text: str, catalogue: Catalogue, hints: Hints | None) -> MuteRequest:
    is_long = len(text) > LONGEST
    named = _split(text[:LONGEST].rpartition(",")[0] if is_long else text, catalogue)
    faults: list[str] = []
    if not named.reasons and not named.wrong:
        faults.append(f"{MUTE} names no reason, so it mutes nothing")
    elif hints is not None:
        faults += _objections(named, catalogue, hints)
    if is_long:
        faults.append(f"{MUTE} is longer than {LONGEST} characters; the rest is not read")
    return MuteRequest(named.reasons, faults=tuple(faults))


class _Names(NamedTuple):
    """The mutable reasons, sorted, the first of the wrong names, and the number of the others."""

    reasons: tuple[str, ...]
    wrong: tuple[str, ...]
    more: int


def _split(text: str, catalogue: Catalogue) -> _Names:
    names = dict.fromkeys(map(str.strip, text.split(",")))
    names.pop("", None)
    good = {name for name in names if name in catalogue and catalogue[name].mutable}
    wrong = tuple(islice((name for name in names if name not in good), _NAMED))
    return _Names(tuple(sorted(good)), wrong, len(names) - len(good) - len(wrong))


def _objections(named: _Names, catalogue: Catalogue, hints: Hints) -> Iterator[str]:
    for name in named.wrong:
        if name not in catalogue:
            yield f"no reason is called {_quoted(name)}{hints.of(name[:_SHOWN_BYTES])}"
        elif catalogue[name].says_ready:
            yield f"{name} is not a fault, so there is nothing to mute"
        else:
            yield f"{name} has no object that could carry a mute; see --disable-reasons"
    if named.more:
        one = "1 more name is not the reason of a fault"
        yield one if named.more == 1 else f"{named.more} more names are not reasons of faults"


@lru_cache(maxsize=4096)
def _hint(name: str, catalogue: Catalogue) -> str:
    known = {reason.name.lower(): reason.name for reason in catalogue if reason.mutable}
    close = get_close_matches(name.lower(), known, n=1, cutoff=_SIMILAR)
    return f"; did you mean {known[close[0]]}?" if close else ""


def _quoted(text: str) -> str:
    return f'"{cut(clean(text), _SHOWN_BYTES)}"'


FAULTS: Final = 1000
"""Maximum faults of mutes in a report."""


_ON_EVENT: Final = (
    "an Event cannot be muted; mute the object at fault, its subject or its namespace"
)

_TOO_MUCH: Final = (
    f"the different mutes in this namespace have over {IN_NAMESPACE} characters; this is not read"
)


@dataclass(frozen=True, slots=True)
class Mutes:
    """The mutes of one pass and the faults of annotations, in the order of the objects.

    `next_in` is the time until the first mute ends.
    """

    all: tuple[Mute, ...] = ()
    faults: tuple[MuteFault, ...] = ()
    next_in: timedelta | None = None
    _by_place: Mapping[Place, Mute] = field(default_factory=dict)
    _by_subject: Mapping[Subject, Mute] = field(default_factory=dict)

    def of(self, finding: Finding | ResolvedFinding) -> tuple[Mute, ...]:
        """Return the mutes of a finding: on the object at fault, its subject, or the namespace."""
        if not self.all:
            return ()
        subject = finding.subject
        namespace = subject.namespace or finding.related.namespace
        carriers = (
            self._by_place.get(finding.related.place),
            self._by_subject.get(subject),
            self._by_place.get(NAMESPACES.ref_named("", namespace).place),
        )
        found = (mute for mute in carriers if mute and finding.reason in mute.reasons)
        return tuple(dict.fromkeys(found))


def find_mutes(
    snapshot: Snapshot, before: Iterable[Mute], now: datetime, *, catalogue: Catalogue
) -> Mutes:
    """Return the mutes on the objects of a snapshot that are in effect at `now`.

    A mute of the last pass stays in effect if its object cannot be read now.
    """
    found: dict[Place, Mute] = {}
    faults: set[MuteFault] = set()
    subjects: dict[Subject, Mute] = {}
    for ref, request in _asked(snapshot, now, catalogue):
        faults.update(MuteFault(ref, text) for text in request.faults)
        if request.reasons:
            found[ref.place] = Mute(ref, request.reasons, request.until)
    for mute in before:
        place = mute.object.place
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
) -> Iterator[tuple[ObjectRef, MuteRequest]]:
    """Yield the request of each annotated object, in the order of the objects.

    What several objects of a namespace have in common is read once. Once there are more faults than
    a report lists, no others are reported.
    """
    hints = Hints(catalogue)
    faults = 0
    read: dict[tuple[str | ObjectRef, str | None, str | None], MuteRequest] = {}
    left: defaultdict[str | ObjectRef, int] = defaultdict(lambda: IN_NAMESPACE)
    carriers = {
        resource.ref(obj): (resource, obj.metadata.annotations)
        for resource in snapshot.tables
        for obj in snapshot[resource].showing(_carries_mute)
    }
    for ref in sorted(carriers):
        resource, annotations = carriers[ref]
        if resource is EVENTS:
            yield ref, MuteRequest(faults=(_ON_EVENT,))
        elif annotations is not None:
            shares = ref.namespace or ref
            text = shares, annotations.mute, annotations.mute_until
            if text not in read:
                left[shares] -= sum(min(len(each or ""), LONGEST) for each in text[1:])
                wanted = hints if faults < FAULTS else None
                read[text] = MuteRequest(faults=(_TOO_MUCH,))
                if left[shares] >= 0:
                    read[text] = read_mute(annotations, now, catalogue, hints=wanted)
            request = read[text]
            yield ref, request if faults < FAULTS else replace(request, faults=())
            faults += len(set(request.faults))


def _carries_mute(obj: KubeObject) -> bool:
    return obj.metadata.annotations is not None and obj.metadata.annotations.mutes


def _is_readable(ref: ObjectRef, snapshot: Snapshot) -> bool:
    """Tell whether the snapshot has an object, knows that it is gone, or does not have its kind.

    Some kinds are read twice, the second time only the objects of a stack; the absence of that
    stack says nothing about the other objects.
    """
    group, kind, namespace, name = ref.place
    tables = [each for each in snapshot.states if (each.group, each.kind) == (group, kind)]
    return any(snapshot[each].get(namespace, name) is not None for each in tables) or all(
        snapshot.absence_known(each, namespace, name) for each in tables
    )
