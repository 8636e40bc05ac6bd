"""Which resources a dump covers, which of them completely, and what was cut off.

kubectl sorts keys, so `kind` and `metadata` of a list come after its items: if they are missing,
the end of the last item is missing too. A single object that is cut off cannot be recognised that
way, but kubectl ends each line with a line break, which an editor or a person may not.

The newest copy of each object counts: dumps made by loops, and folders, have many objects twice.

The clock of a dump decides how long each fault has lasted, and a tenant can write any time into the
status of an object of their own. Kubelets report each node at least every five minutes
(nodeStatusReportFrequency of KubeletConfiguration), and only the cluster writes the status of
nodes, pods and workloads. So if nodes have heartbeats, a time from another kind counts only if it
is at most ten minutes later. Without heartbeats nothing shows which time is right, and all count.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from reporter.catalogue.resources import NAMESPACES
from reporter.model.objects import KubeObject
from reporter.model.report import NOT_IN_DUMP, SUPERSEDED, SkippedObject
from reporter.model.resource import AnyResource
from reporter.snapshot.decode import skipped
from reporter.snapshot.documents import BrokenDocument, Document
from reporter.snapshot.dump_served import CRD_NAME, NO_LIST, Json, Kind, ServedKinds, Wanted, part
from reporter.snapshot.snapshot import Discovery, ResourceState, Served
from reporter.snapshot.table import Table
from reporter.yaml_reader.reading import Ending

_UINT64_DIGITS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One copy of an object.

    `revision` is its resourceVersion; it and `generation` are -1 if unknown. `newest` is the newest
    time in the object. Of two API versions, the one with the higher `preference` is read.
    """

    content: KubeObject | SkippedObject
    revision: int
    generation: int
    uid: object
    newest: datetime | None
    preference: int
    digest: int

    def follows(self, other: "Copy") -> bool:
        """True if this copy, which comes later in the dump, replaces the other one.

        The copy with the higher resourceVersion is newer (Kubernetes API concepts, "Resource
        versions", says that they are comparable). Of two with the same one, the readable one wins.
        """
        if self.revision != other.revision:
            return self.revision > other.revision
        if self.revision >= 0:
            return self.worth >= other.worth
        if self.uid == other.uid and self.generation != other.generation:
            return self.generation > other.generation
        if self.newest and other.newest and self.newest != other.newest:
            return self.newest > other.newest
        return True

    @property
    def worth(self) -> tuple[bool, int]:
        return not isinstance(self.content, SkippedObject), self.preference

    def differs(self, other: "Copy") -> bool:
        """True if the contents may differ; two API versions of one revision do not."""
        if self.revision >= 0:
            return self.revision != other.revision
        return self.digest != other.digest


def copy_of(
    value: Json,
    content: KubeObject | SkippedObject,
    newest: datetime | None,
    *,
    preference: int,
    digest: int,
) -> Copy:
    generation = part(value, "metadata", "generation")
    return Copy(
        content=content,
        revision=_number(part(value, "metadata", "resourceVersion")),
        generation=generation if isinstance(generation, int) else -1,
        uid=part(value, "metadata", "uid"),
        newest=newest,
        preference=preference,
        digest=digest,
    )


@dataclass(slots=True)
class Copies:
    _kept: dict[AnyResource, dict[tuple[str, str], Copy]] = field(default_factory=dict)
    _superseded: dict[tuple[AnyResource, str, str], int] = field(default_factory=dict)

    def add(self, resource: AnyResource, copy: Copy) -> None:
        """Keep a copy that comes later in the dump, unless the known copy is newer."""
        copies = self._kept.setdefault(resource, {})
        key = (copy.content.namespace, copy.content.name)
        other = copies.get(key)
        if other is not None and copy.differs(other):
            place = (resource, *key)
            self._superseded[place] = self._superseded.get(place, 0) + 1
        if other is None or copy.follows(other):
            copies[key] = copy

    def objects(self) -> Iterator[tuple[AnyResource, dict[tuple[str, str], KubeObject]]]:
        for resource, copies in self._kept.items():
            contents = ((key, copy.content) for key, copy in copies.items())
            kept = {key: each for key, each in contents if not isinstance(each, SkippedObject)}
            yield resource, kept

    def malformed(self) -> Iterator[SkippedObject]:
        for copies in self._kept.values():
            for copy in copies.values():
                if isinstance(copy.content, SkippedObject):
                    yield copy.content

    def superseded(self) -> Iterator[SkippedObject]:
        for resource, namespace, name in self._superseded:
            yield skipped(resource, namespace, name, cause=SUPERSEDED)


def _number(text: object) -> int:
    if not isinstance(text, str) or not text.isdecimal() or len(text) > _UINT64_DIGITS:
        return -1
    return int(text)


_FIELDS: Final = frozenset({
    "creationTimestamp", "lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime",
    "lastProbeTime", "startTime", "startedAt", "finishedAt", "firstTimestamp",
    "lastTimestamp", "eventTime", "lastObservedTime", "time", "acquireTime", "renewTime",
})  # fmt: skip
"""Fields with a past time; others, such as `expiresAt`, may be in the future."""


_OF_THE_CLUSTER: Final = frozenset(
    {"Node", "Pod", "Namespace", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"}
)
_LATER: Final = timedelta(minutes=10)
"""How much later than the cluster's newest time another time may be: two heartbeats."""


@dataclass(slots=True)
class DumpClock:
    """Derives the time of a dump from the times in its objects."""

    _newest: datetime | None = None
    _others: set[datetime] = field(default_factory=set)
    _heartbeats: bool = False

    def note(self, value: Mapping[str, object], group: str = "", kind: str = "") -> datetime | None:
        newest = max(_times(value), default=None)
        created = part(value, "metadata", "creationTimestamp")
        moment = _moment(created) if isinstance(created, str) else None
        own = [moment] if moment else []
        if kind in _OF_THE_CLUSTER and group in {"", "apps", "batch"}:
            status = value.get("status")
            own += _times(status)
            self._heartbeats |= kind == "Node" and _has_heartbeat(status)
        if newest is not None:
            self._others.add(newest)
        self._newest = max([*own, *([self._newest] if self._newest else [])], default=None)
        return newest

    def time(self) -> datetime | None:
        if not self._heartbeats or self._newest is None:
            return max(self._others, default=None)
        latest = self._newest + _LATER
        return max((each for each in self._others if each <= latest), default=self._newest)


def _has_heartbeat(status: object) -> bool:
    conditions = part(status, "conditions")
    each = conditions if isinstance(conditions, list) else []
    return any(isinstance(one, dict) and "lastHeartbeatTime" in one for one in each)


def _times(document: object) -> Iterator[datetime]:
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(each for each in value if isinstance(each, (dict, list)))
        elif isinstance(value, dict):
            for key, each in value.items():
                if isinstance(each, (dict, list)):
                    waiting.append(each)
                elif key in _FIELDS and isinstance(each, str) and (moment := _moment(each)):
                    yield moment


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None


FORBIDDEN: Final = "forbidden"

_REFUSAL: Final = re.compile(r'cannot (?:get|list) resource "([^"]+)" in API group "([^"]*)"')
"""Message of a Status with reason Forbidden (Kubernetes, endpoints/handlers/responsewriters)."""


@dataclass(slots=True)
class FoundResources:
    """The resources found in a dump. `listed`: those with a list, either of their kind or with
    several of their objects. `partial`: by resource name, why some objects are missing.
    """

    present: set[AnyResource] = field(default_factory=set)
    listed: set[AnyResource] = field(default_factory=set)
    partial: dict[str, str] = field(default_factory=dict)

    def list(self, resources: Iterable[AnyResource]) -> None:
        found = tuple(resources)
        self.present.update(found)
        self.listed.update(found)

    def mark_partial(self, wanted: Wanted, kinds: Iterable[Kind], cause: str) -> None:
        """Note that objects of these kinds are missing; without a known kind, of any kind."""
        found = tuple(kinds)
        if not found:
            self.partial.update({str(each): cause for each in wanted.resources} | {CRD_NAME: cause})
        for kind in found:
            names = [str(each) for each in wanted.of_kind(*kind)]
            names += [CRD_NAME] if wanted.is_crd(*kind) else []
            self.partial.update(dict.fromkeys(names, cause))

    def note_refusal(self, wanted: Wanted, text: str) -> None:
        """Note a refusal that kubectl printed: the resource is partial, as other lists of it may
        have succeeded.
        """
        if found := _REFUSAL.search(text):
            name = ".".join(filter(None, found.groups()))
            self.partial.update({str(e): FORBIDDEN for e in wanted.resources if str(e) == name})
            self.partial.update({CRD_NAME: FORBIDDEN} if name == CRD_NAME else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    states: Mapping[AnyResource, ResourceState]
    discovery: Discovery
    incomplete: Mapping[str, str]

    def tables(self, copies: Copies) -> dict[AnyResource, Table[KubeObject]]:
        return {
            resource: Table(objects)
            for resource, objects in copies.objects()
            if resource in self.states and self.states[resource].served is Served.SERVED
        }

    def left_out(self, copies: Copies) -> Iterator[str]:
        for resource, objects in copies.objects():
            state = self.states.get(resource)
            if not objects or state is None or state.served is Served.SERVED:
                continue
            why = (
                f"the dump says that {resource} is not served"
                if state.served is Served.ABSENT
                else f"the dump says that {resource} could not be read ({state.cause})"
            )
            yield f"{len(objects)} {resource.kind} object(s) are left out: {why}."


def coverage_of(
    wanted: Wanted,
    found: FoundResources,
    kinds: ServedKinds,
    *,
    expected: frozenset[str],
    complete: bool,
) -> Coverage:
    held = {each.crd_name for each in found.present if each.custom}
    discovery = kinds.discovery(held, complete=complete, cut=CRD_NAME in found.partial)
    rules = _Rules(wanted, found, kinds, expected, complete)
    read = filter(rules.is_read, wanted.resources)
    states = {each: rules.state(each, discovery) for each in read}
    incomplete = {
        str(each): found.partial[str(each)]
        for each, state in states.items()
        if str(each) in found.partial and state.served is not Served.ABSENT
    }
    if NAMESPACES in found.present - found.listed and not complete:
        incomplete.setdefault(str(NAMESPACES), NO_LIST)
    if not discovery.is_whole:
        incomplete[CRD_NAME] = found.partial.get(CRD_NAME) or kinds.unlisted()
    return Coverage(states=states, discovery=discovery, incomplete=incomplete)


@dataclass(frozen=True, slots=True)
class _Rules:
    wanted: Wanted
    found: FoundResources
    kinds: ServedKinds
    expected: frozenset[str]
    complete: bool

    def is_read(self, resource: AnyResource) -> bool:
        """True if a resource is used; a live reporter decides that by discovery.

        A stack's resource is used only if the stack is expected or has subjects. Optional resources
        are used if they are in the dump, and never count as missing, even in a complete dump.
        """
        seen = resource in self.found.present
        if resource.opt_in or resource.explains:
            return seen or str(resource) in self.found.partial
        if not resource.stack or seen or self.kinds.failure(resource):
            return True
        return resource.stack in self.expected or any(
            each.stack == resource.stack and each.subject_kind and each in self.found.present
            for each in self.wanted.resources
        )

    def state(self, resource: AnyResource, discovery: Discovery) -> ResourceState:
        seen, kind = resource in self.found.present, resource.subject_kind
        if resource.custom and discovery.state(resource.crd_name) is Served.ABSENT:
            return ResourceState(Served.ABSENT)
        # If two API groups have the same kind of subject, a cluster serves only one.
        if not seen and kind and any(each.subject_kind == kind for each in self.found.present):
            return ResourceState(Served.ABSENT)
        if failure := self.kinds.failure(resource):
            return failure
        cause = self.found.partial.get(str(resource), "")
        if resource.seldom and resource not in self.wanted.declared and not seen and not cause:
            return ResourceState(Served.ABSENT)
        if self.complete or seen:
            return ResourceState(Served.SERVED)
        return ResourceState(Served.UNKNOWN, cause=cause or NOT_IN_DUMP)


_OF_THE_SERVER: Final = ("creationTimestamp", "managedFields", "resourceVersion", "uid")

_MARKS: Final = frozenset({"apiVersion", "items", "kind"})


@dataclass(frozen=True, slots=True)
class Remains:
    """The readable rest of a document that is cut off.

    `unfinished` is the object at the cut, empty if nothing of it is left; None if the rest does not
    look like a Kubernetes object.
    """

    items: tuple[object, ...] = ()
    unfinished: object = None


def remains_of(document: Document | BrokenDocument) -> Remains | None:
    if isinstance(document, BrokenDocument):
        return _remains_of_broken(document)
    value = document.value
    if not isinstance(value, dict):
        return None
    if "items" in value:
        return _remains_of_list(value, document.ending)
    is_cut = document.ending is Ending.RUN_INTO or (
        document.ending is Ending.OPEN and (_is_of_the_server(value) or _MARKS.issuperset(value))
    )
    return Remains(unfinished=value) if is_cut else None


def _remains_of_broken(document: BrokenDocument) -> Remains:
    items = part(document.part, "items")
    if isinstance(items, list):
        return Remains(tuple(items), document.unfinished or {})
    if isinstance(document.part, list) and document.part:
        *whole, last = document.part
        return Remains(tuple(whole), last) if _is_object(last) else Remains()
    return Remains(unfinished=document.part if _is_object(document.part) else None)


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and not _MARKS.isdisjoint(value)


def _remains_of_list(value: Json, ending: Ending) -> Remains | None:
    items = value["items"]
    entries = items if isinstance(items, list) else []
    *whole, last = entries or [{}]
    kind = value.get("kind")
    if not isinstance(kind, str) or not kind.endswith("List"):
        return Remains(tuple(whole), last)
    is_open = ending is Ending.OPEN and [*value][-1] == "items" and _is_of_the_server(last)
    is_cut = is_open or (ending is Ending.RUN_INTO and [*value][-1] == "items")
    return Remains(tuple(whole), last) if is_cut else None


def _is_of_the_server(value: object) -> bool:
    """True if an API server wrote the object: then kubectl printed it and ended every line."""
    return any(part(value, "metadata", each) for each in _OF_THE_SERVER)
