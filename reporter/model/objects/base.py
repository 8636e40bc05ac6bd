"""What all objects have: metadata and conditions."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct, field

MUTE: Final = "status-reporter.io/mute"
"""Annotation with the reasons that are not to be told of an object."""

MUTE_UNTIL: Final = "status-reporter.io/mute-until"
"""Annotation with the time at which that ends."""

Timestamp: TypeAlias = Annotated[datetime, Meta(tz=True)]
Labels: TypeAlias = dict[str, str]


class Part(Struct, frozen=True, gc=False, rename="camel"):
    """A part of an object; names are camel case in JSON."""


class OwnerReference(Part, frozen=True):
    """An entry of `metadata.ownerReferences`."""

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

    @property
    def mutes(self) -> bool:
        """Whether one of those about muting is set."""
        return self.mute is not None or self.mute_until is not None

    def get(self, key: str) -> str | None:
        """Return the value of an annotation, None where it is not set.

        Raises:
            KeyError: the struct does not name it, so that it was not read.

        """
        value: str | None = getattr(self, _attributes(type(self))[key])
        return value


@cache
def _attributes(type_: type[Annotations]) -> Mapping[str, str]:
    return dict(zip(type_.__struct_encode_fields__, type_.__struct_fields__, strict=True))


class Metadata(Part, frozen=True):
    """`metadata`, with the annotations that are read."""

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

    def label(self, key: str) -> str | None:
        """Return the value of a label, None where it is not set."""
        return self.labels.get(key) if self.labels else None

    def annotation(self, key: str) -> str | None:
        """Return the value of an annotation that is read of this kind, None where it is not set."""
        return self.annotations.get(key) if self.annotations else None

    def owned_by(self, uid: str) -> bool:
        """Tell whether an owner reference names the object with this uid."""
        return any(owner.uid == uid for owner in self.owner_references or ())


class Condition(Part, frozen=True):
    """A condition, in the standard form.

    Attributes:
        observed_generation: text too, where the CRD is Istio's (`x-kubernetes-int-or-string`).
    """

    type: str
    status: str = "Unknown"
    reason: str | None = None
    message: str | None = None
    last_transition_time: Timestamp | None = None
    observed_generation: int | str | None = None


Conditions: TypeAlias = Annotated[tuple[Condition, ...], Meta(max_length=1000)]


class Conditioned(Part, frozen=True):
    """A status whose conditions are read."""

    conditions: Conditions | None = None

    def condition(self, type_: str) -> Condition | None:
        """Return the condition of that type, None where it is not there."""
        for condition in self.conditions or ():
            if condition.type == type_:
                return condition
        return None


class KubeObject(Part, frozen=True):
    """What all objects have; `kind` and `apiVersion` are known from the resource."""

    metadata: Metadata

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """`metadata.namespace`, empty for cluster-scoped objects."""
        return self.metadata.namespace

    @property
    def created(self) -> datetime | None:
        """`metadata.creationTimestamp`."""
        return self.metadata.creation_timestamp

    @property
    def deleting(self) -> bool:
        """Whether the object is on its way out."""
        return self.metadata.deletion_timestamp is not None
