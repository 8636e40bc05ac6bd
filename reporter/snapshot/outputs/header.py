"""The header of a dump that `status-reporter dump` wrote: what was looked at, when, and what came of it.

Lists of objects alone do not say all of it: that a kind is served in a version that is not read, or
that of a part of the API nobody knows what is served. With the header the dump is as good as the cluster.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, Self

import msgspec

from reporter.model.instant import rfc3339
from reporter.model.objects import KubeObject
from reporter.model.report import NOT_IN_DUMP
from reporter.model.resource import Resource
from reporter.model.text import clean
from reporter.snapshot.dump_served import NO_LIST
from reporter.snapshot.snapshot import (
    FORBIDDEN,
    NOT_ASKED,
    NOT_LISTED,
    NOT_READ,
    OTHER_VERSIONS,
    UNREACHABLE,
    Discovery,
    ResourceState,
    Served,
    Snapshot,
)

API_VERSION: Final = "status-reporter/v1"
KIND: Final = "Dump"

_CAUSES: Final = frozenset(
    {"", NOT_READ.cause, NOT_LISTED, UNREACHABLE, FORBIDDEN, NOT_ASKED, NOT_IN_DUMP, NO_LIST}
)
_OTHER_VERSIONS: Final = re.compile(rf"{OTHER_VERSIONS}[a-z0-9 ,.()/]{{0,200}}")
_CAUSE_CHARACTERS: Final = 100


class LookedAt(msgspec.Struct, frozen=True):
    """What is known of one resource; the attributes are those of `ResourceState`."""

    served: Served
    cause: str = ""
    permission: str = ""
    partial: bool = False


class DumpHeader(msgspec.Struct, frozen=True, rename="camel"):
    """The header.

    Attributes:
        collected_at: when the dump was complete.
        version: of the program that wrote it.
        redacted: names were replaced.
        resources: of each resource, by the text form and the label selector, what is known.
        unknown_groups: groups of which discovery did not say what they serve.
        namespace: the only one that was read; empty for all.

    """

    collected_at: datetime
    version: str = ""
    redacted: bool = False
    resources: dict[str, LookedAt] = {}
    unknown_groups: tuple[str, ...] = ()
    namespace: str = ""

    @classmethod
    def of(
        cls,
        states: Mapping[Resource[KubeObject], ResourceState],
        discovery: Discovery,
        now: datetime,
        *,
        version: str,
        redacted: bool,
        namespace: str = "",
    ) -> Self:
        """Return the header for what was read, in one namespace or in all."""
        return cls(
            collected_at=now,
            version=version,
            redacted=redacted,
            resources={
                each.selection: LookedAt(state.served, state.cause, state.permission, state.partial)
                for each, state in states.items()
            },
            unknown_groups=tuple(sorted(discovery.unknown_groups)),
            namespace=namespace,
        )

    def document(self) -> dict[str, object]:
        """Return the header as it stands in the dump."""
        fields: dict[str, object] = msgspec.to_builtins(self)
        collected = {"collectedAt": rfc3339(self.collected_at)}
        return {"apiVersion": API_VERSION, "kind": KIND, **fields, **collected}

    def applied(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot of the dump as that of the cluster would have been.

        What the header does not name was not looked at, with the settings of then; a wide
        resource that is not read is not missed either.
        """
        states = {
            each: self._state(each, state)
            for each, state in snapshot.states.items()
            if each.selection in self.resources
            or (state.served is not Served.SERVED and not each.wide)
        }
        groups = frozenset(self.unknown_groups)
        known = replace(snapshot.discovery, unknown_groups=groups, known_groups=None)
        cut = {
            name: cause
            for name, cause in snapshot.incomplete.items()
            if cause not in {NOT_IN_DUMP, NO_LIST}
        }
        covered = frozenset({self.namespace}) if self.namespace else None
        return replace(snapshot, states=states, discovery=known, covered=covered, incomplete=cut)

    def _state(self, resource: Resource[KubeObject], found: ResourceState) -> ResourceState:
        told = self.resources.get(resource.selection)
        if told is None:
            return found
        return ResourceState(
            told.served, cause=_cause(told.cause), permission=told.permission, partial=told.partial
        )


def _cause(told: str) -> str:
    """Return a cause; one that this program does not write is quoted, as somebody else's words."""
    if told in _CAUSES or _OTHER_VERSIONS.fullmatch(told):
        return told
    return f"the dump says {json.dumps(clean(told)[:_CAUSE_CHARACTERS], ensure_ascii=False)}"


def header_of(document: object) -> DumpHeader | None:
    """Return the header if a document is one that can be read."""
    if not isinstance(document, dict):
        return None
    if (document.get("apiVersion"), document.get("kind")) != (API_VERSION, KIND):
        return None
    try:
        return msgspec.convert(document, DumpHeader)
    except msgspec.ValidationError:
        return None
