"""Common parts of all objects: metadata, conditions, label selectors."""

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, Final, Self, TypeAlias

from msgspec import Meta, Struct, field, structs
from msgspec.structs import force_setattr

MUTE: Final = "status-reporter.io/mute"
"""Annotation with the reasons that are muted for an object."""

MUTE_UNTIL: Final = "status-reporter.io/mute-until"
"""Annotation with the end of the mute."""

IS_MODEL: Final = "status-reporter.io/model"
"""Annotation that declares a workload a model (`"true"`) or not a model (`"false"`)."""

NOT_READ: Final = "status-reporter.io/not-read"
"""JSON name that no object has, for a field of the base class that a kind does not read."""

Timestamp: TypeAlias = Annotated[datetime, Meta(tz=True)]
Labels: TypeAlias = dict[str, str]


class Part(Struct, frozen=True, gc=False, rename="camel"):
    """A part of an object, with camel-case names in JSON."""


class OwnerReference(Part, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Annotations(Struct, frozen=True, gc=False):
    """The annotations that are read from every object.

    Others can be large and are skipped while decoding. A kind with more annotations to read names
    them in a subclass.
    """

    mute: str | None = field(name=MUTE, default=None)
    mute_until: str | None = field(name=MUTE_UNTIL, default=None)
    is_model: str | None = field(name=IS_MODEL, default=None)

    @property
    def mutes(self) -> bool:
        return self.mute is not None or self.mute_until is not None

    def get(self, key: str) -> str | None:
        """Raises KeyError if the struct has no such annotation, so it was not read."""
        value: str | None = getattr(self, _attributes(type(self))[key])
        return value


@cache
def _attributes(type_: type[Annotations]) -> Mapping[str, str]:
    return dict(zip(type_.__struct_encode_fields__, type_.__struct_fields__, strict=True))


class _Something(Struct, frozen=True, gc=False):
    """An object whose presence alone matters."""


class OwnedFields(Part, frozen=True):
    """The field set of a manager, reduced to whether it has fields of the desired state.

    The sets are the larger part of many objects and are skipped while decoding.
    """

    spec: _Something | None = field(name="f:spec", default=None)
    data: _Something | None = field(name="f:data", default=None)


class ManagerEntry(Part, frozen=True):
    """An entry of `metadata.managedFields`; `fields_v1` is None if a dump omits it.

    `time` is in the API's own format, which sorts by time.
    """

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    time: str = ""
    fields_v1: OwnedFields | None = field(name="fieldsV1", default=None)

    @property
    def owns_wanted(self) -> bool:
        owned = self.fields_v1
        some = owned is None or owned.spec is not None or owned.data is not None
        return some and self.subresource != "status"


_AT_CREATION: Final = timedelta(seconds=5)
"""Writes within this time after an object's creation belong to its creation."""

_WRITES: Final = 4
"""Number of newest writes kept per object; a manager has one entry for all its writes."""


def wanted_writes(
    entries: Iterable[ManagerEntry], created: datetime | None
) -> tuple[ManagerEntry, ...] | None:
    """Return the managers that changed the desired state of an object after its creation, the
    newest last, or None, which takes no memory: nearly all objects have no such write.
    """
    after = _end_of_creation(created)
    found = [each for each in entries if each.owns_wanted and _instant(each.time) > after]
    if not found:
        return None
    found.sort(key=lambda each: each.time)
    return tuple(
        ManagerEntry(
            manager=sys.intern(each.manager),
            operation=sys.intern(each.operation),
            subresource=sys.intern(each.subresource),
            time=each.time,
        )
        for each in found[-_WRITES:]
    )


def _end_of_creation(created: datetime | None) -> str:
    try:
        return (created + _AT_CREATION).isoformat() if created else ""
    except OverflowError:  # at the end of the calendar
        return ""


def _instant(time: str) -> str:
    # Both are in UTC and to the second: `2026-11-20T11:57:20Z` and `2026-11-20T11:57:20+00:00`.
    return time.replace("Z", "+00:00")


class Metadata(Part, frozen=True):
    """`managed_fields`: the writes of its desired state after its creation, the newest last."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    labels: Labels | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    annotations: Annotations | None = None
    managed_fields: tuple[ManagerEntry, ...] | None = None

    def __post_init__(self) -> None:
        """Drop the managers that have not changed the desired state since the creation."""
        if self.managed_fields is not None:
            kept = wanted_writes(self.managed_fields, self.creation_timestamp)
            force_setattr(self, "managed_fields", kept)

    def reads_as(self, other: Self) -> bool:
        """Tell whether all fields but the resource version and the managers are equal."""
        return self == structs.replace(
            other, resource_version=self.resource_version, managed_fields=self.managed_fields
        )

    def label(self, key: str) -> str | None:
        return self.labels.get(key) if self.labels else None

    def annotation(self, key: str) -> str | None:
        return self.annotations.get(key) if self.annotations else None

    def owned_by(self, uid: str) -> bool:
        return any(owner.uid == uid for owner in self.owner_references or ())


class UnmanagedMetadata(Metadata, frozen=True):
    """Metadata of kinds whose desired state cannot change, or whose changes are not reported."""

    managed_fields: tuple[ManagerEntry, ...] | None = field(name=NOT_READ, default=None)


class Condition(Part, frozen=True):
    """`observed_generation` may be text in Istio's CRDs."""

    type: str
    status: str = "Unknown"
    reason: str | None = None
    message: str | None = None
    last_transition_time: Timestamp | None = None
    observed_generation: int | str | None = None


Conditions: TypeAlias = Annotated[tuple[Condition, ...], Meta(max_length=1000)]


class Conditioned(Part, frozen=True):
    conditions: Conditions | None = None

    def condition(self, type_: str, status: str = "") -> Condition | None:
        """Return the condition of a type, or None; with `status`, only if it has that status."""
        for condition in self.conditions or ():
            if condition.type == type_:
                return condition if status in ("", condition.status) else None
        return None


class KubeObject(Part, frozen=True):
    metadata: Metadata

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def created(self) -> datetime | None:
        return self.metadata.creation_timestamp

    @property
    def deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None


class SelectorRequirement(Part, frozen=True):
    key: str
    operator: str
    values: frozenset[str] | None = None

    def is_met(self, value: str | None) -> bool:
        """Tell whether a label with this value, or None without the label, meets it."""
        match self.operator:
            case "In":
                return value is not None and value in (self.values or ())
            case "NotIn":
                return value is None or value not in (self.values or ())
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case _:
                return False


class LabelSelector(Part, frozen=True):
    match_labels: Labels | None = None
    match_expressions: tuple[SelectorRequirement, ...] | None = None

    @property
    def key(self) -> tuple[object, ...]:
        return tuple(sorted((self.match_labels or {}).items())), self.match_expressions

    def matches(self, labels: Labels | None) -> bool:
        """Tell whether an object with these labels is selected; an empty selector selects all."""
        labels = labels or {}
        if self.match_labels and not self.match_labels.items() <= labels.items():
            return False
        return all(each.is_met(labels.get(each.key)) for each in self.match_expressions or ())
