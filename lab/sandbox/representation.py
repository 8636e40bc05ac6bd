"""Encodes objects: whole, or as rows of a Table."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Raw

from lab.sandbox import tables
from lab.sandbox.errors import not_acceptable
from lab.sandbox.objects import Object, decode, encode
from lab.sandbox.resources import Resource
from lab.sandbox.storage import Change, EventType, Stored

Representation = Literal["full", "table"]
IncludeObject = Literal["None", "Metadata", "Object"]

_TABLE = {"as": "Table", "g": "meta.k8s.io", "v": "v1"}


def json_forms(accept: str) -> Iterator[dict[str, str]]:
    """Yield the parameters of the media types in an Accept header that mean JSON."""
    for clause in (accept or "*/*").split(","):
        name, *parameters = (part.strip() for part in clause.split(";"))
        if name.lower() in {"application/json", "*/*"}:
            pairs = (parameter.partition("=") for parameter in parameters)
            yield {key.strip(): value.strip() for key, _, value in pairs}


def negotiate(accept: str) -> Representation:
    """Return the first representation that the client accepts; ApiError 406 if there is none."""
    for parameters in json_forms(accept):
        if "as" not in parameters:
            return "full"
        if _TABLE.items() <= parameters.items():
            return "table"
    raise not_acceptable()


def _head(resource: Resource) -> bytes:
    return encode({"kind": resource.kind, "apiVersion": resource.api_version})[:-1] + b","


def whole(resource: Resource, stored: Stored) -> bytes:
    """Encode an object in the version of a resource."""
    return _head(resource) + stored.body


def as_object(resource: Resource, stored: Stored) -> Object:
    found: Object = decode(whole(resource, stored))
    return found


def _included(resource: Resource, stored: Stored, include: IncludeObject) -> Raw | Object | None:
    """Return what a row of a Table tells of its object in addition to the cells."""
    match include:
        case "Object":
            return Raw(whole(resource, stored))
        case "Metadata":
            metadata = decode(b"{" + stored.body)["metadata"]
            partial: Object = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
            return {**partial, "metadata": metadata}
    return None


def table_of(
    resource: Resource,
    items: Iterable[Stored],
    *,
    now: float,
    include: IncludeObject,
    metadata: Object,
    with_definitions: bool = True,
) -> bytes:
    columns = tables.columns_of(resource)
    rows = [
        {
            "cells": tables.row(columns, as_object(resource, stored), now),
            "object": _included(resource, stored, include),
        }
        for stored in items
    ]
    return encode(
        {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": tables.definitions(columns) if with_definitions else None,
            "rows": rows,
        }
    )


def list_of(resource: Resource, items: Sequence[Stored], metadata: Object) -> bytes:
    # Lists of built-in kinds do not repeat the type in their items; those of custom kinds are
    # unstructured, and omit nothing.
    head = _head(resource) if resource.custom else b"{"
    if resource.custom:
        metadata = {"continue": "", **metadata}
    return encode(
        {
            "kind": resource.listed_as,
            "apiVersion": resource.api_version,
            "metadata": metadata,
            "items": [Raw(head + stored.body) for stored in items],
        }
    )


def event_line(kind: str, obj: bytes) -> bytes:
    return encode({"type": kind, "object": Raw(obj)}) + b"\n"


def change_line(resource: Resource, change: Change, kind: EventType) -> bytes:
    """Encode a change for its watchers, once for all of them."""
    cache_key = (resource.api_version, kind)
    line = change.encoded.get(cache_key)
    if line is None:
        stored = last_match(change) if kind == "DELETED" else change.new
        line = change.encoded[cache_key] = event_line(kind, whole(resource, stored))
    return line


def last_match(change: Change) -> Stored:
    """Return the state for a client whose selectors no longer match: the old one, new version."""
    if change.type == "DELETED" or change.old is None:
        return change.new
    obj = decode(b"{" + change.old.body)
    obj["metadata"]["resourceVersion"] = str(change.version)
    return Stored(change.old.key, change.version, obj, expires=None)
