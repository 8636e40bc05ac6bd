"""A manifest: an object that should exist, in the API's own form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from reporter.model.objects import Labels
from reporter.model.subject import ObjectRef
from reporter.stacks.otterscale.objects import GROUP_VERSION, KIND, Json, ModelService

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object that should exist.

    Attributes:
        ref: where it is.
        document: the whole of it, as JSON has it. Not to be changed.

    """

    ref: ObjectRef
    document: Mapping[str, object]

    def typed(self, type_: type[T]) -> T:
        """Return it as the struct that objects of its kind are read into, to compare both."""
        return msgspec.convert(self.document, type_)


def owned(
    service: ModelService,
    api_version: str,
    kind: str,
    *,
    name: str,
    labels: Labels,
    content: Json,
    annotations: Labels | None = None,
) -> Manifest:
    """Return an object in the namespace of a ModelService, which owns it once it has a uid."""
    metadata: Json = {"name": name, "namespace": service.namespace, "labels": labels}
    if annotations is not None:
        metadata["annotations"] = annotations
    if service.metadata.uid:
        metadata["ownerReferences"] = [_owner(service)]
    document = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}
    return Manifest(ObjectRef(api_version, kind, service.namespace, name), document)


def cluster_scoped(
    api_version: str, kind: str, name: str, *, labels: Labels, content: Json
) -> Manifest:
    """Return an object in no namespace, which nothing in a namespace can own."""
    metadata = {"name": name, "labels": labels}
    document = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}
    return Manifest(ObjectRef(api_version, kind, "", name), document)


def _owner(service: ModelService) -> Json:
    return {
        "apiVersion": GROUP_VERSION,
        "kind": KIND,
        "name": service.name,
        "uid": service.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
