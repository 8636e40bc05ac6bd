"""A dump, what `kubectl get <kinds> -A -o yaml` prints, becomes a snapshot; see docs/check.md."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import msgspec

from reporter.catalogue import resources as r
from reporter.model.catalogue import Catalogue
from reporter.model.objects import KubeObject
from reporter.model.report import SkippedObject
from reporter.model.resource import Resource
from reporter.model.text import clean, cut
from reporter.snapshot.decode import decode_object, describe_malformed, skipped
from reporter.snapshot.documents import (
    BrokenDocument,
    DumpError,
    PageFile,
    Source,
    read_inputs,
)
from reporter.snapshot.dump_events import core_event
from reporter.snapshot.dump_served import CRD_GROUP, CRD_KIND, Json, ServedKinds
from reporter.snapshot.dump_times import newest_time
from reporter.snapshot.dump_wanted import EVENTS_GROUP, Wanted
from reporter.snapshot.outputs.header import DumpHeader, header_of
from reporter.snapshot.snapshot import Discovery, ResourceState, Served, Snapshot
from reporter.snapshot.table import Table

__all__ = ["NOT_IN_DUMP", "Dump", "DumpError", "load_dump"]

NOT_IN_DUMP: Final = "not in the dump"
"""Cause of a resource that is unknown because nobody put it into the dump."""

_CAUSE_BYTES: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """A loaded dump.

    Attributes:
        snapshot: its objects, and which resources it tells about.
        newest: the newest time that stands in it; None if there is none.
        notes: what the reader of a report should know of the dump, one sentence each.
        pages: the pages of metrics that are in archives; those in folders are read when needed.
        collected: `newest` is when `status-reporter dump` collected it.

    """

    snapshot: Snapshot
    newest: datetime | None
    notes: tuple[str, ...] = ()
    pages: tuple[PageFile, ...] = ()
    collected: bool = False


def load_dump(sources: Sequence[Source], catalogue: Catalogue, *, complete: bool = False) -> Dump:
    """Load files, folders and standard input (`-`) as one dump.

    Args:
        sources: where the documents are.
        catalogue: says what is read of it.
        complete: the dump holds all objects of the cluster, so what is not there does not exist.

    Raises:
        DumpError: a source cannot be opened, or there is no usable document in any.

    """
    expected = frozenset(each.name for each in catalogue.stacks if each.expected)
    loader = _Loader(Wanted((*catalogue.resources, *r.BY_PLACE)), expected)
    pages: list[PageFile] = []
    header: DumpHeader | None = None
    for document in read_inputs(sources):
        if isinstance(document, PageFile):
            pages.append(document)
        elif isinstance(document, BrokenDocument):
            loader.skip_text(document.source, document.cause)
        elif found := header_of(document.value):
            header = found
        else:
            loader.take(document.value, document.source)
    if header is not None:
        return Dump(
            snapshot=header.applied(loader.snapshot(complete=complete)),
            newest=header.collected_at,
            notes=tuple(loader.notes()),
            pages=tuple(pages),
            collected=True,
        )
    if not loader.taken:
        raise DumpError(_nothing_usable(sources, loader.skipped))
    return Dump(
        snapshot=loader.snapshot(complete=complete),
        newest=loader.newest,
        notes=tuple(loader.notes()),
        pages=tuple(pages),
    )


def _nothing_usable(sources: Sequence[Source], skips: Sequence[SkippedObject]) -> str:
    if skips:
        return f"{skips[0].resource}: {skips[0].cause}"
    return f"{', '.join(map(str, sources))}: there are no Kubernetes objects"


@dataclass(slots=True)
class _Entry:
    obj: KubeObject
    version: int
    revision: int


@dataclass(slots=True)
class _Loader:
    """What the documents seen so far say."""

    wanted: Wanted
    expected: frozenset[str]
    taken: int = 0
    newest: datetime | None = None
    skipped: list[SkippedObject] = field(default_factory=list)
    _objects: dict[Resource[KubeObject], dict[tuple[str, str], _Entry]] = field(
        default_factory=dict
    )
    _looked_at: set[Resource[KubeObject]] = field(default_factory=set)
    _namespaces: set[str] = field(default_factory=set)
    _kinds: ServedKinds = field(default_factory=ServedKinds)
    _not_read: Counter[str] = field(default_factory=Counter)

    def skip_text(self, source: str, cause: str) -> None:
        """Record a text that could not be parsed."""
        self.skipped.append(SkippedObject(source, "", "", cause))

    def take(self, value: object, source: str, kind: str = "", *, api_version: str = "") -> None:
        """Take a document, or an item of a list of `kind`, which need not repeat its kind."""
        if not isinstance(value, dict):
            self.skip_text(source, "a document is not a Kubernetes object")
            return
        found_kind = value.get("kind") or kind
        found_version = value.get("apiVersion") or api_version
        if not isinstance(found_kind, str) or not isinstance(found_version, str):
            self.skip_text(source, "kind and apiVersion of a document are not text")
            return
        if not found_kind or not found_version:
            self.skip_text(source, "a document has no kind or no apiVersion")
            return
        self.taken += 1
        group, _, version = found_version.rpartition("/")
        match group, found_kind:
            case "", "List":
                self._take_items(value, source)
            case "", "Status":
                if fault := self._kinds.take_status(value):
                    self.skip_text(source, fault)
            case "", "APIResourceList":
                self._kinds.take_api_resources(value)
            case _, _ if (group, found_kind) == (CRD_GROUP, CRD_KIND):
                self._note_time(value)
                self._kinds.take_crd(value)
            case _ if found_kind.endswith("List") and (
                "items" in value or found_kind.removesuffix("List") in self.wanted.kinds
            ):
                item_kind = found_kind.removesuffix("List")
                self._look_at(group, item_kind)
                self._take_items(value, source, item_kind, api_version=found_version)
            case _:
                self._take_object(value, source, group, version=version, kind=found_kind)

    def _take_items(
        self, value: Json, source: str, kind: str = "", *, api_version: str = ""
    ) -> None:
        items = value.get("items")
        if items is None:
            items = []
        if not isinstance(items, list):
            self.skip_text(source, "items of a list is not a list")
            return
        for item in items:
            self.take(item, source, kind, api_version=api_version)

    def _look_at(self, group: str, kind: str) -> None:
        if (group, kind) == (CRD_GROUP, CRD_KIND):
            self._kinds.look_at_crds()
        else:
            self._looked_at.update(self.wanted.of_kind(group, kind))

    def _take_object(
        self, value: Json, source: str, group: str, *, version: str, kind: str
    ) -> None:
        self._note_time(value)
        metadata = value.get("metadata")
        meta: Json = metadata if isinstance(metadata, dict) else {}
        namespace = meta.get("namespace")
        if isinstance(namespace, str) and namespace:
            self._namespaces.add(namespace)
        resources = self.wanted.of_kind(group, kind)
        if not resources:
            self._not_read[kind] += 1
        self._looked_at.update(resources)
        for resource in resources:
            if not self.wanted.selects(resource, meta):
                continue
            if group == EVENTS_GROUP:
                value = core_event(value)
            elif version not in resource.versions:
                cause = f"version {clean(version)} of {resource.kind} is not known"
                self._skip(resource, meta, cause)
                continue
            self._keep(resource, version, value, source=source)

    def _keep(
        self, resource: Resource[KubeObject], version: str, value: Json, *, source: str
    ) -> None:
        try:
            raw = msgspec.json.encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            cause = describe_malformed(error) if isinstance(error, RecursionError) else str(error)
            self.skip_text(source, cut(clean(cause), _CAUSE_BYTES))
            return
        obj = decode_object(resource, raw)
        if isinstance(obj, SkippedObject):
            self.skipped.append(obj)
            return
        rank = resource.versions.index(version) if version in resource.versions else 0
        self._add(resource, _Entry(obj, -rank, _revision(obj)))

    def _add(self, resource: Resource[KubeObject], entry: _Entry) -> None:
        """Keep the object; of two with one name the newer counts, else the later."""
        objects = self._objects.setdefault(resource, {})
        key = (entry.obj.namespace, entry.obj.name)
        other = objects.get(key)
        if other is None:
            objects[key] = entry
            return
        newer, older = entry, other
        if (other.revision, other.version) > (entry.revision, entry.version):
            newer, older = other, entry
        objects[key] = newer
        if newer.revision < 0 or newer.revision != older.revision:
            cause = "it is in the dump more than once; the newest copy counts"
            self.skipped.append(skipped(resource, *key, cause=cause))

    def _skip(self, resource: Resource[KubeObject], meta: Json, cause: str) -> None:
        names = (meta.get("namespace"), meta.get("name"))
        namespace, name = (each if isinstance(each, str) else "" for each in names)
        self.skipped.append(skipped(resource, namespace, name, cause=cut(cause, _CAUSE_BYTES)))

    def _note_time(self, value: Json) -> None:
        newest = newest_time(value)
        if newest and (self.newest is None or newest > self.newest):
            self.newest = newest

    def notes(self) -> Iterator[str]:
        """Yield what the reader of a report should know."""
        if self._not_read:
            kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(self._not_read.items()))
            yield f"Kinds in the dump that are not read: {cut(clean(kinds), _CAUSE_BYTES)}."
        served = self._kinds.discovery().served
        for resource, objects in self._objects.items():
            if resource.custom and served is not None and resource.crd_name not in served:
                yield (
                    f"{len(objects)} {resource.kind} object(s) are left out: the dump lists the "
                    f"kinds that are served, and {resource} is not among them."
                )

    def snapshot(self, *, complete: bool) -> Snapshot:
        """Return the snapshot of all documents taken."""
        discovery = self._kinds.discovery()
        read = [each for each in self.wanted.resources if self._is_read(each)]
        states = {each: self._state(each, discovery, complete=complete) for each in read}
        tables = {
            resource: Table({key: entry.obj for key, entry in entries.items()})
            for resource, entries in self._objects.items()
            if resource in states and states[resource].served is Served.SERVED
        }
        return Snapshot(
            tables=tables,
            states=states,
            discovery=discovery,
            covered=None if complete else frozenset(self._namespaces),
            skipped=tuple(sorted(self.skipped)),
        )

    def _is_read(self, resource: Resource[KubeObject]) -> bool:
        """Tell whether there is a use for a resource, as a live reporter finds by discovery.

        What is read for a stack is of no use without its subjects.
        """
        if not resource.stack or resource in self._looked_at:
            return True
        subjects = (
            each
            for each in self.wanted.resources
            if each.stack == resource.stack and each.subject_kind
        )
        return resource.stack in self.expected or any(each in self._looked_at for each in subjects)

    def _has_alike(self, resource: Resource[KubeObject]) -> bool:
        """Tell whether the dump has the same subjects in another API group: clusters serve one."""
        kind = resource.subject_kind
        return kind is not None and any(
            each in self._looked_at for each in self.wanted.resources if each.subject_kind == kind
        )

    def _state(
        self, resource: Resource[KubeObject], discovery: Discovery, *, complete: bool
    ) -> ResourceState:
        if resource.custom and discovery.state(resource.crd_name) is Served.ABSENT:
            return ResourceState(Served.ABSENT)
        if resource not in self._looked_at and self._has_alike(resource):
            return ResourceState(Served.ABSENT)
        if failure := self._kinds.failure(resource):
            return failure
        if complete or resource in self._looked_at:
            return ResourceState(Served.SERVED)
        return ResourceState(Served.UNKNOWN, cause=NOT_IN_DUMP)


def _revision(obj: KubeObject) -> int:
    text = obj.metadata.resource_version
    return int(text) if text.isdecimal() and len(text) <= 20 else -1  # noqa: PLR2004  # uint64
