"""What all objects have: metadata and conditions."""

from datetime import datetime
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

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


class Metadata(Part, frozen=True):
    """`metadata` without annotations, which are large and of use for a few kinds only."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    labels: Labels | None = None
    owner_references: tuple[OwnerReference, ...] | None = None

    def label(self, key: str) -> str | None:
        """Return the value of a label, None where it is not set."""
        return self.labels.get(key) if self.labels else None

    def owned_by(self, uid: str) -> bool:
        """Tell whether an owner reference names the object with this uid."""
        return any(owner.uid == uid for owner in self.owner_references or ())


class AnnotatedMetadata(Metadata, frozen=True):
    """`metadata` with annotations."""

    annotations: dict[str, str] | None = None

    def annotation(self, key: str) -> str | None:
        """Return the value of an annotation, None where it is not set."""
        return self.annotations.get(key) if self.annotations else None


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
