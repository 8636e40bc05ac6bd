"""A dump as one archive: a header, a file for each resource, refusals, and metrics pages.

The header says what was read, when, and with which result. Lists of objects do not show all of
that, for example that a kind is served only in a version that is not read, or that discovery of an
API group failed. With the header, evaluating the dump gives the same verdicts as the cluster.

The dump keeps only the fields of an object that the reporter reads, with their values; the structs
that objects are decoded into name these fields. So unread data cannot leak, such as the last
applied configuration and the volumes of pods. `managedFields` keep only who wrote, and when. Values
that are compared as a whole, such as a pod template, are kept as a whole; `masking.py` masks
possible credentials there. A malformed object stays malformed, because that is what is reported.
"""

import gzip
import io
import json
import os
import re
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Final, Self, TypeAlias

import msgspec
from msgspec import inspect

from reporter.model.instant import rfc3339
from reporter.model.objects.base import Timestamp
from reporter.model.report import NOT_IN_DUMP
from reporter.model.resource import AnyResource
from reporter.model.text import clean, json_text
from reporter.snapshot import snapshot as s
from reporter.snapshot.dump_served import NO_LIST

_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    raw: bytes

    @classmethod
    def of_documents(cls, name: str, documents: Iterable[object]) -> "Member":
        texts = (json_text(each, indent=1) for each in documents)
        return cls(name, "".join(f"{text}\n" for text in texts).encode("utf-8", "backslashreplace"))


def write_archive(
    file: BinaryIO, members: Iterable[Member], *, folder: str, moment: datetime
) -> None:
    """Write a `.tgz`; equal members and moments give equal bytes."""
    seconds = int(moment.timestamp())
    with (
        gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=seconds) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for member in members:
            header = tarfile.TarInfo(f"{folder}/{member.name}")
            header.size, header.mtime, header.mode = len(member.raw), seconds, _MODE
            tar.addfile(header, io.BytesIO(member.raw))


def create(path: Path) -> BinaryIO:
    """Create a new file that only its owner may read; raise FileExistsError if it exists."""
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
    return os.fdopen(number, "wb")


API_VERSION: Final = "status-reporter/v1"
KIND: Final = "Dump"

_CAUSES: Final = frozenset({
    "", s.NOT_READ.cause, s.NOT_LISTED, s.UNREACHABLE, s.FORBIDDEN, s.NOT_ASKED, NOT_IN_DUMP,
    NO_LIST,
})  # fmt: skip
_OTHER_VERSIONS: Final = re.compile(rf"{s.OTHER_VERSIONS}[a-z0-9 ,.()/]{{0,200}}")
_CAUSE_CHARACTERS: Final = 100


class LookedAt(msgspec.Struct, frozen=True):
    served: s.Served
    cause: str = ""
    permission: str = ""
    partial: bool = False


class DumpHeader(msgspec.Struct, frozen=True, rename="camel"):
    """`resources`: the state of each resource, by its name and label selector."""

    collected_at: Timestamp
    version: str = ""
    redacted: bool = False
    resources: dict[str, LookedAt] = {}
    unknown_groups: tuple[str, ...] = ()
    namespace: str = ""

    @classmethod
    def of(
        cls,
        states: Mapping[AnyResource, s.ResourceState],
        discovery: s.Discovery,
        now: datetime,
        *,
        version: str,
        redacted: bool,
        namespace: str = "",
    ) -> Self:
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
        fields: dict[str, object] = msgspec.to_builtins(self)
        collected = {"collectedAt": rfc3339(self.collected_at)}
        return {"apiVersion": API_VERSION, "kind": KIND, **fields, **collected}

    def applied(self, snapshot: s.Snapshot) -> s.Snapshot:
        """Return the dump's snapshot with the states that the cluster's snapshot had.

        A resource that the header does not name was not read, with the settings of that time; a
        wide resource that was not read does not count as missing.
        """
        states = {
            each: self._state(each, state)
            for each, state in snapshot.states.items()
            if each.selection in self.resources
            or (state.served is not s.Served.SERVED and not each.wide)
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

    def _state(self, resource: AnyResource, found: s.ResourceState) -> s.ResourceState:
        seen = self.resources.get(resource.selection)
        if seen is None:
            return found
        return s.ResourceState(
            seen.served, cause=_cause(seen.cause), permission=seen.permission, partial=seen.partial
        )


def _cause(text: str) -> str:
    """Return a header's cause; quote a cause that this program does not write."""
    if text in _CAUSES or _OTHER_VERSIONS.fullmatch(text):
        return text
    return f"the dump says {json.dumps(clean(text)[:_CAUSE_CHARACTERS], ensure_ascii=False)}"


def header_of(document: object) -> DumpHeader | None:
    if not isinstance(document, dict):
        return None
    if (document.get("apiVersion"), document.get("kind")) != (API_VERSION, KIND):
        return None
    try:
        return msgspec.convert(document, DumpHeader)
    except msgspec.ValidationError:
        return None


Json: TypeAlias = dict[str, object]

_NEVER: Final = frozenset({"managedFields", "kubectl.kubernetes.io/last-applied-configuration"})
_NEUTRAL: Final = {str: "", int: 0, float: 0.0}


def pruned(item: object, types: Iterable[type[msgspec.Struct]]) -> object:
    """Return an object reduced to the fields that its types name; without types, to nothing."""
    return _pruned(item, tuple(map(_type_of, types)))


_type_of = lru_cache(maxsize=256)(inspect.type_info)


def _pruned(value: object, types: Sequence[inspect.Type]) -> object:
    kinds = tuple(_flat(types))
    if any(isinstance(each, (inspect.AnyType, inspect.CustomType)) for each in kinds):
        return _whole(value)
    if isinstance(value, dict):
        return _members(value, kinds)
    if isinstance(value, list):
        items = [
            each.item_type
            for each in kinds
            if isinstance(each, (inspect.VarTupleType, inspect.ListType))
        ]
        return [_pruned(each, items) for each in value] if items else []
    if any(
        not isinstance(
            each, (inspect.StructType, inspect.DictType, inspect.VarTupleType, inspect.ListType)
        )
        for each in kinds
    ):
        return value
    # A malformed value: its type matters, its content does not.
    return _NEUTRAL.get(type(value), value)


def _flat(types: Iterable[inspect.Type]) -> Iterator[inspect.Type]:
    for each in types:
        if isinstance(each, inspect.UnionType):
            yield from _flat(each.types)
        else:
            yield each


def _members(value: Json, kinds: Sequence[inspect.Type]) -> Json:
    fields: dict[str, list[inspect.Type]] = {}
    for each in kinds:
        for field in each.fields if isinstance(each, inspect.StructType) else ():
            fields.setdefault(field.encode_name, []).append(field.type)
    values = [each.value_type for each in kinds if isinstance(each, inspect.DictType)]
    return {
        key: _pruned(each, fields.get(key, values))
        for key, each in value.items()
        if key in fields or (values and key not in _NEVER)
    }


def _whole(value: object) -> object:
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items() if key not in _NEVER}
    return [_whole(each) for each in value] if isinstance(value, list) else value
