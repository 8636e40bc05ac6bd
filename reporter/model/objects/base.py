"""What all objects have: metadata, conditions, and label selectors for them."""

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, Final, Self, TypeAlias

from msgspec import Meta, Struct, field, structs
from msgspec.structs import force_setattr

MUTE: Final = "status-reporter.io/mute"
"""Annotation with the reasons that are not to be told of an object."""

MUTE_UNTIL: Final = "status-reporter.io/mute-until"
"""Annotation with the time at which that ends."""

IS_MODEL: Final = "status-reporter.io/model"
"""Annotation that makes a model of a workload (`"true"`), or none (`"false"`)."""

NOT_READ: Final = "status-reporter.io/not-read"
"""For a field's name that a kind does not read although its base does: nothing has it."""

Timestamp: TypeAlias = Annotated[datetime, Meta(tz=True)]
Labels: TypeAlias = dict[str, str]


class Part(Struct, frozen=True, gc=False, rename="camel"):
    """A part of an object; names are camel case in JSON."""


class OwnerReference(Part, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Annotations(Struct, frozen=True, gc=False):
    """The annotations that are read of every object.

    Others are large and of no use: they are skipped while an object is decoded. A kind of which
    more are read names them in a subclass.
    """

    mute: str | None = field(name=MUTE, default=None)
    mute_until: str | None = field(name=MUTE_UNTIL, default=None)
    is_model: str | None = field(name=IS_MODEL, default=None)

    @property
    def mutes(self) -> bool:
        return self.mute is not None or self.mute_until is not None

    def get(self, key: str) -> str | None:
        """Raises KeyError where the struct does not name it, so that it was not read."""
        value: str | None = getattr(self, _attributes(type(self))[key])
        return value


@cache
def _attributes(type_: type[Annotations]) -> Mapping[str, str]:
    return dict(zip(type_.__struct_encode_fields__, type_.__struct_fields__, strict=True))


class _Something(Struct, frozen=True, gc=False):
    """An object of which nothing is read."""


class OwnedFields(Part, frozen=True):
    """Of the field set of a manager only whether it has anything of what is wanted.

    The sets are the larger part of many objects: they are skipped while an object is decoded.
    """

    spec: _Something | None = field(name="f:spec", default=None)
    data: _Something | None = field(name="f:data", default=None)


class ManagerEntry(Part, frozen=True):
    """An entry of `metadata.managedFields`; `fields_v1` is None where a dump leaves that out.

    `time` is in the API's own form, in which the later one is the larger.
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
"""What is written so soon after an object was created belongs to its creation."""

_WRITES: Final = 4
"""Writes that are kept of an object, the newest: a manager has one entry for all that it wrote."""


def wanted_writes(
    entries: Iterable[ManagerEntry], created: datetime | None
) -> tuple[ManagerEntry, ...] | None:
    """Return who changed what is wanted of an object after its creation, the newest last.

    Nearly all objects have none, so that this takes no memory.
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
    """`managed_fields`: who wrote what is wanted of it after its creation, the newest last."""

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
        """Forget the managers that changed nothing that is wanted since the creation."""
        if self.managed_fields is not None:
            kept = wanted_writes(self.managed_fields, self.creation_timestamp)
            force_setattr(self, "managed_fields", kept)

    def reads_as(self, other: Self) -> bool:
        """Tell whether what is read is the same, apart from the version and who wrote it last."""
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
    """Of a kind of which nothing that is wanted can be changed, or nobody asks who did."""

    managed_fields: tuple[ManagerEntry, ...] | None = field(name=NOT_READ, default=None)


class Condition(Part, frozen=True):
    """`observed_generation` may be text where the CRD is Istio's."""

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
        """Return the condition of a type; None too where its status is not the one asked for."""
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


class LabelSelector(Part, frozen=True):
    match_labels: Labels | None = None
    match_expressions: tuple[SelectorRequirement, ...] | None = None

    @property
    def key(self) -> tuple[object, ...]:
        return tuple(sorted((self.match_labels or {}).items())), self.match_expressions

    def matches(self, labels: Labels | None) -> bool:
        """Tell whether an object with these labels is selected; an empty selector selects all."""
        labels = labels or {}
        if any(labels.get(key) != value for key, value in (self.match_labels or {}).items()):
            return False
        return all(_meets(labels, each) for each in self.match_expressions or ())


def _meets(labels: Labels, requirement: SelectorRequirement) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in (requirement.values or ())
        case "NotIn":
            return value is None or value not in (requirement.values or ())
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False
