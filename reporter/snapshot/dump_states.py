"""Which resources a dump tells about, of which it tells everything, and what of it was cut off.

kubectl sorts keys, so that `kind` and `metadata` of a list stand behind its items: where they are
not there, neither is the end of the last item. Of a single object nothing tells that its end is
missing, but kubectl ends each line; what an editor or a person wrote need not.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from reporter.catalogue.resources import NAMESPACES
from reporter.model.objects import KubeObject
from reporter.model.report import NOT_IN_DUMP
from reporter.model.resource import Resource
from reporter.snapshot.documents import BrokenDocument, Document
from reporter.snapshot.dump_copies import Copies
from reporter.snapshot.dump_served import CRD_NAME, NO_LIST, Json, Kind, ServedKinds, Wanted, part
from reporter.snapshot.snapshot import Discovery, ResourceState, Served
from reporter.snapshot.table import Table
from reporter.yaml_reader.reading import Ending

FORBIDDEN: Final = "forbidden"

_REFUSAL: Final = re.compile(r'cannot (?:get|list) resource "([^"]+)" in API group "([^"]*)"')
"""As a Status of reason Forbidden has it (Kubernetes, endpoints/handlers/responsewriters)."""


@dataclass(slots=True)
class Looks:
    """Of `listed` there is a list: with its kind, or with several of its objects. `partial` says
    why there was more than could be read, by the text form of the resource.
    """

    seen: set[Resource[KubeObject]] = field(default_factory=set)
    listed: set[Resource[KubeObject]] = field(default_factory=set)
    partial: dict[str, str] = field(default_factory=dict)

    def list(self, resources: Iterable[Resource[KubeObject]]) -> None:
        found = tuple(resources)
        self.seen.update(found)
        self.listed.update(found)

    def mark_partial(self, wanted: Wanted, kinds: Iterable[Kind], cause: str) -> None:
        """Note that there were more objects of some kinds; where none is known, of any."""
        found = tuple(kinds)
        if not found:
            self.partial.update({str(each): cause for each in wanted.resources} | {CRD_NAME: cause})
        for kind in found:
            names = [str(each) for each in wanted.of_kind(*kind)]
            names += [CRD_NAME] if wanted.is_crd(*kind) else []
            self.partial.update(dict.fromkeys(names, cause))

    def note_refusal(self, wanted: Wanted, said: str) -> None:
        """Note what kubectl says that it may not read; somewhere, which others may have read."""
        if found := _REFUSAL.search(said):
            name = ".".join(filter(None, found.groups()))
            self.partial.update(
                {str(each): FORBIDDEN for each in wanted.resources if str(each) == name}
            )
            self.partial.update({CRD_NAME: FORBIDDEN} if name == CRD_NAME else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    states: Mapping[Resource[KubeObject], ResourceState]
    discovery: Discovery
    incomplete: Mapping[str, str]

    def tables(self, copies: Copies) -> dict[Resource[KubeObject], Table[KubeObject]]:
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


def said(
    wanted: Wanted, looks: Looks, kinds: ServedKinds, *, expected: frozenset[str], complete: bool
) -> Said:
    held = {each.crd_name for each in looks.seen if each.custom}
    discovery = kinds.discovery(held, complete=complete, cut=CRD_NAME in looks.partial)
    told = _Told(wanted, looks, kinds, expected, complete)
    states = {each: told.state(each, discovery) for each in wanted.resources if told.is_read(each)}
    incomplete = {
        str(each): looks.partial[str(each)]
        for each, state in states.items()
        if str(each) in looks.partial and state.served is not Served.ABSENT
    }
    if NAMESPACES in looks.seen - looks.listed and not complete:
        incomplete.setdefault(str(NAMESPACES), NO_LIST)
    if not discovery.is_whole:
        incomplete[CRD_NAME] = looks.partial.get(CRD_NAME) or kinds.unlisted()
    return Said(states=states, discovery=discovery, incomplete=incomplete)


@dataclass(frozen=True, slots=True)
class _Told:
    wanted: Wanted
    looks: Looks
    kinds: ServedKinds
    expected: frozenset[str]
    complete: bool

    def is_read(self, resource: Resource[KubeObject]) -> bool:
        """Tell whether there is a use for a resource, as a live reporter finds by discovery.

        What is read for a stack is of no use without its subjects. What somebody has to ask for is
        asked for by being there, and missed by nobody, however complete the dump.
        """
        seen = resource in self.looks.seen
        if resource.opt_in or resource.explains:
            return seen or str(resource) in self.looks.partial
        if not resource.stack or seen or self.kinds.failure(resource):
            return True
        return resource.stack in self.expected or any(
            each.stack == resource.stack and each.subject_kind and each in self.looks.seen
            for each in self.wanted.resources
        )

    def state(self, resource: Resource[KubeObject], discovery: Discovery) -> ResourceState:
        seen, kind = resource in self.looks.seen, resource.subject_kind
        if resource.custom and discovery.state(resource.crd_name) is Served.ABSENT:
            return ResourceState(Served.ABSENT)
        # Of two API groups with the same subjects clusters serve one.
        if not seen and kind and any(each.subject_kind == kind for each in self.looks.seen):
            return ResourceState(Served.ABSENT)
        if failure := self.kinds.failure(resource):
            return failure
        cause = self.looks.partial.get(str(resource), "")
        if resource.seldom and resource not in self.wanted.declared and not seen and not cause:
            return ResourceState(Served.ABSENT)
        if self.complete or seen:
            return ResourceState(Served.SERVED)
        return ResourceState(Served.UNKNOWN, cause=cause or NOT_IN_DUMP)


_OF_THE_SERVER: Final = ("creationTimestamp", "managedFields", "resourceVersion", "uid")

_MARKS: Final = frozenset({"apiVersion", "items", "kind"})


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of a document that is not whole.

    `unfinished` is the object in which it ends, empty if nothing of it is left; None if what is
    left does not look like an object of Kubernetes at all.
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
    """Tell whether an API server wrote it: then kubectl printed it, with its line breaks."""
    return any(part(value, "metadata", each) for each in _OF_THE_SERVER)
