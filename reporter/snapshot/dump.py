"""Turns a dump, such as the output of `kubectl get <kinds> -A -o yaml`, into a snapshot.

See docs/check.md.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Final

import msgspec

from reporter.catalogue import resources as r
from reporter.model.catalogue import Catalogue
from reporter.model.evidence import Evidence, ForeignEvent
from reporter.model.report import SkippedObject, skipped_lines
from reporter.model.resource import AnyResource
from reporter.model.text import clean, cut
from reporter.snapshot import dump_served, dump_states
from reporter.snapshot.decode import decode_object, describe_malformed, skipped
from reporter.snapshot.documents import BrokenDocument, Document, read_inputs
from reporter.snapshot.foreign_events import MOST, EventObject, by_object, foreign_event
from reporter.snapshot.inputs.files import DumpError, LogFile, PageFile, is_explained
from reporter.snapshot.inputs.reading import Source
from reporter.snapshot.outputs.archive import DumpHeader, header_of
from reporter.snapshot.snapshot import Snapshot

_CAUSE_BYTES: Final = 200
_NO_OBJECTS: Final = 100
"""Most non-object items of a list that are reported one by one; the rest are only counted."""
_A_DUMP: Final = (
    "a dump is what `kubectl get ... -o yaml` prints, or what `status-reporter dump` writes"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """`newest` is the newest credible time in the dump, or, if `collected`, the time at which
    `status-reporter dump` wrote it. `namespace` is the only one that the dump covers; empty for
    all. `pages` are the metrics pages of archives; pages in folders are read when needed.
    """

    snapshot: Snapshot
    newest: datetime | None
    notes: tuple[str, ...] = ()
    pages: tuple[PageFile, ...] = ()
    logs: tuple[LogFile, ...] = ()
    collected: bool = False
    namespace: str = ""


def load_dump(sources: Sequence[Source], catalogue: Catalogue, *, complete: bool = False) -> Dump:
    """Load files, folders and standard input (`-`) as one dump.

    With `complete`, objects that are not in the dump do not exist. Raises DumpError if a source
    cannot be opened or no source has a usable document.
    """
    expected = frozenset(each.name for each in catalogue.stacks if each.expected or each.shares)
    declared = (each.resource for each in catalogue.declared if each.resource is not None)
    every = (*catalogue.resources, *r.BY_PLACE, *r.ON_DEMAND)
    loader = _Loader(dump_served.Wanted(every, declared))
    pages: list[PageFile] = []
    logs: list[LogFile] = []
    header: DumpHeader | None = None
    for document in read_inputs(sources):
        if isinstance(document, PageFile):
            pages.append(document)
        elif isinstance(document, LogFile):
            logs.append(document)
        elif isinstance(document, Document) and (found := header_of(document.value)):
            header = found
        else:
            loader.read(document)
    if header is None and not loader.taken:
        raise DumpError(_nothing_usable(sources, loader.skipped))
    coverage = dump_states.coverage_of(
        loader.wanted, loader.found, loader.kinds, expected=expected, complete=complete
    )
    skips = (*loader.skipped, *loader.copies.malformed())
    snapshot = Snapshot(
        tables=coverage.tables(loader.copies),
        states=coverage.states,
        discovery=coverage.discovery,
        covered=None if complete else frozenset(loader.namespaces),
        skipped=tuple(sorted(skips)),
        superseded=tuple(sorted(loader.copies.superseded())),
        incomplete=coverage.incomplete,
        evidence=loader.evidence(collected=header is not None),
    )
    return Dump(
        snapshot=header.applied(snapshot) if header else snapshot,
        newest=header.collected_at if header else loader.clock.time(),
        notes=(*loader.notes(), *coverage.left_out(loader.copies)),
        pages=tuple(pages),
        logs=tuple(logs),
        collected=header is not None,
        namespace=header.namespace if header else "",
    )


def _nothing_usable(sources: Sequence[Source], skips: Sequence[SkippedObject]) -> str:
    if not skips:
        return f"{', '.join(map(str, sources))}: there are no Kubernetes objects; {_A_DUMP}"
    lines = "\n  ".join(skipped_lines(skips))
    # Causes of `looks_like` already say what to do.
    return lines if any(is_explained(each.cause) for each in skips) else f"{lines}; {_A_DUMP}"


@dataclass(slots=True)
class _Loader:
    wanted: dump_served.Wanted
    taken: int = 0
    clock: dump_states.DumpClock = field(default_factory=dump_states.DumpClock)
    skipped: list[SkippedObject] = field(default_factory=list)
    copies: dump_states.Copies = field(default_factory=dump_states.Copies)
    namespaces: set[str] = field(default_factory=set)
    events: list[ForeignEvent] = field(default_factory=list)
    found: dump_states.FoundResources = field(default_factory=dump_states.FoundResources)
    kinds: dump_served.ServedKinds = field(default_factory=dump_served.ServedKinds)
    _not_read: Counter[str] = field(default_factory=Counter)

    def read(self, document: Document | BrokenDocument) -> None:
        source = document.source
        if isinstance(document, BrokenDocument):
            self.skip_text(source, document.cause)
            self.found.note_refusal(self.wanted, document.cause)
        remains = dump_states.remains_of(document)
        if remains is None and isinstance(document, Document):
            self.take(document.value, source)
        elif remains is not None:
            self._take_remains(remains, source, reported=isinstance(document, BrokenDocument))

    def skip_text(self, source: str, cause: str) -> None:
        self.skipped.append(SkippedObject(source, "", "", cause))

    def take(self, value: object, source: str, kind: str = "", *, api_version: str = "") -> None:
        """Take a document, or an item of a list of `kind`, which may omit its own kind."""
        if not isinstance(value, dict):
            self._skip_non_object(source, kind, api_version)
            return
        found_kind = value.get("kind") or kind
        found_version = value.get("apiVersion") or api_version
        if not isinstance(found_kind, str) or not isinstance(found_version, str):
            self.skip_text(source, "kind and apiVersion of a document are not text")
            return
        if not found_kind or not found_version:
            self._take_incomplete(value, source)
            return
        self.taken += 1
        group, _, version = found_version.rpartition("/")
        match group, found_kind:
            case "", "List":
                self._take_items(value, source)
            case "", "Status":
                if fault := self.kinds.take_status(value):
                    self.skip_text(source, fault)
            case "", "APIResourceList":
                self.kinds.take_api_resources(value)
            case _, _ if self.wanted.is_crd(group, found_kind):
                self.clock.note(value)
                self.kinds.take_crd(value)
            case _ if found_kind.endswith("List") and (
                "items" in value or found_kind.removesuffix("List") in self.wanted.kinds
            ):
                item_kind = found_kind.removesuffix("List")
                self._take_items(value, source, item_kind, api_version=found_version)
            case _:
                self._take_object(value, source, group, version=version, kind=found_kind)

    def _take_items(
        self, value: dump_served.Json, source: str, kind: str = "", *, api_version: str = ""
    ) -> None:
        items = [] if value.get("items") is None else value["items"]
        of = (api_version.rpartition("/")[0], kind) if kind else None
        if not isinstance(items, list):
            self.skip_text(source, "items of a list is not a list")
            if of:
                self._mark_partial([of], source)
            return
        if named := of or self.wanted.of_file(source):
            self._list(*named)
        kinds = Counter(each for each in map(dump_served.kind_of, items) if each)
        for found in (each for each, count in kinds.items() if count > 1):
            self._list(*found)
        others = 0
        for item in items:
            # A list of numbers must not produce one record for each.
            others += not isinstance(item, dict)
            if isinstance(item, dict) or others <= _NO_OBJECTS:
                self.take(item, source, kind, api_version=api_version)
        if others > _NO_OBJECTS:
            self.skip_text(source, f"{others - _NO_OBJECTS} more items are not Kubernetes objects")

    def _list(self, group: str, kind: str) -> None:
        self.found.list(self.wanted.of_kind(group, kind))
        self.kinds.listed |= self.wanted.is_crd(group, kind)

    def _take_remains(self, remains: dump_states.Remains, source: str, *, reported: bool) -> None:
        """Take the complete items of an incomplete document, and record what was cut off."""
        for item in remains.items:
            self.take(item, source)
        rest = remains.unfinished
        kind = dump_served.kind_of(rest)
        found = self.wanted.of_kind(*kind) if kind else ()
        if not found and dump_served.part(rest, "metadata") is None:
            kind = None  # the kind itself may be cut off
        if rest is not None:
            self._mark_partial([*map(dump_served.kind_of, remains.items), kind], source)
        cause = "it is cut off"
        self.taken += bool(found)
        for resource in found:
            self._skip(resource, dump_served.part(rest, "metadata"), cause)
        if not found and not reported:
            self.skip_text(source, cause)

    def _mark_partial(self, kinds: Iterable[dump_served.Kind | None], source: str) -> None:
        """Note that objects of these kinds are missing; without a known kind, of any kind."""
        cause = cut(clean(f"not all of {source} could be read"), _CAUSE_BYTES)
        self.found.mark_partial(self.wanted, filter(None, kinds), cause)

    def _take_incomplete(self, value: dump_served.Json, source: str) -> None:
        """Take a document whose kind or apiVersion may have been cut off."""
        if value.get("kind") == "List" and isinstance(value.get("items"), list):
            self._take_items(value, source)
            return
        cause = "a document has no kind or no apiVersion"
        kinds = [each for each in self.wanted.resources if each.kind == value.get("kind")]
        for resource in kinds:
            self._skip(resource, value.get("metadata"), cause)
        if not kinds:
            self.skip_text(source, cause)

    def _skip_non_object(self, source: str, kind: str, api_version: str) -> None:
        """Record a value that is not an object; in a list of a kind it counts as one of them."""
        cause = "a document is not a Kubernetes object"
        resources = self.wanted.of_kind(api_version.rpartition("/")[0], kind)
        for resource in resources:
            self._skip(resource, None, cause)
        if not resources:
            self.skip_text(source, cause)

    def _take_object(
        self, value: dump_served.Json, source: str, group: str, *, version: str, kind: str
    ) -> None:
        newest = self.clock.note(value, group, kind)
        metadata = value.get("metadata")
        meta: dump_served.Json = metadata if isinstance(metadata, dict) else {}
        namespace = meta.get("namespace")
        if isinstance(namespace, str) and namespace:
            self.namespaces.add(namespace)
        resources = self.wanted.of_kind(group, kind)
        if not resources:
            self._not_read[kind] += 1
        self.found.present.update(resources)
        for resource in resources:
            if resource is r.EVENTS:
                value = core_event(value) if group == dump_served.EVENTS_GROUP else value
                self._take_event(value, source)
            if not self.wanted.selects(resource, meta):
                continue
            if resource is not r.EVENTS and version not in resource.versions:
                cause = f"version {clean(version)} of {resource.kind} is not known"
                self._skip(resource, meta, cause)
                continue
            self._keep(resource, version, value, newest=newest, source=source)

    def _take_event(self, value: dump_served.Json, source: str) -> None:
        try:
            event = foreign_event(msgspec.convert(value, EventObject))
        except msgspec.ValidationError as error:
            self.skip_text(source, cut(clean(f"an Event: {error}"), _CAUSE_BYTES))
            return
        if event is not None:
            self.events.append(event)
            if len(self.events) > 2 * MOST:
                self.events = list(chain.from_iterable(by_object(self.events).values()))

    def _keep(
        self,
        resource: AnyResource,
        version: str,
        value: dump_served.Json,
        *,
        newest: datetime | None,
        source: str,
    ) -> None:
        try:
            raw = msgspec.json.encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            cause = describe_malformed(error) if isinstance(error, RecursionError) else str(error)
            self.skip_text(source, cut(clean(cause), _CAUSE_BYTES))
            self._skip(resource, value.get("metadata"), "it cannot be written as JSON")
            return
        obj = decode_object(resource, raw)
        if isinstance(obj, SkippedObject) and not obj.name:
            self.skipped.append(obj)
            return
        rank = resource.versions.index(version) if version in resource.versions else 0
        copy = dump_states.copy_of(value, obj, newest, preference=-rank, digest=hash(raw))
        self.copies.add(resource, copy)

    def _skip(self, resource: AnyResource, meta: object, cause: str) -> None:
        names = (dump_served.part(meta, "namespace"), dump_served.part(meta, "name"))
        namespace, name = (each if isinstance(each, str) else "" for each in names)
        self.skipped.append(skipped(resource, namespace, name, cause=cut(cause, _CAUSE_BYTES)))

    def evidence(self, *, collected: bool) -> Evidence:
        """Return the Events of others; a dump with Events has those of all namespaces.

        Dumps written before Events of others were collected have none.
        """
        seen = bool(self.events) if collected else r.EVENTS in self.found.present
        events_read = None if seen else frozenset[str]()
        return Evidence(events=by_object(self.events), events_read=events_read)

    def notes(self) -> Iterator[str]:
        if self._not_read:
            kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(self._not_read.items()))
            yield f"Kinds in the dump that are not read: {cut(clean(kinds), _CAUSE_BYTES)}."


_NAMES: Final = {
    "regarding": "involvedObject", "note": "message", "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp", "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count", "reportingController": "reportingComponent",
}  # fmt: skip


def core_event(event: Mapping[str, object]) -> Mapping[str, object]:
    """Return an Event of events.k8s.io/v1 with the field names of core/v1.

    Both are views of one stored object (Kubernetes, pkg/apis/events/v1/conversion.go), so renaming
    is enough.
    """
    return {_NAMES.get(key, key): value for key, value in event.items()}
