"""Encodes objects: whole, metadata only, or as rows of a Table."""

from collections.abc import Iterable, Sequence
from typing import Literal

from lab.sandbox import events, tables
from lab.sandbox.errors import not_acceptable
from lab.sandbox.objects import Object, decode, encode
from lab.sandbox.resources import EVENTS_GROUP, Resource
from lab.sandbox.storage import Change, EventType, Stored

Representation = Literal["full", "partial", "table"]
IncludeObject = Literal["None", "Metadata", "Object"]

MediaType = tuple[str, dict[str, str]]

_JSON = "application/json"
_TABLE_VERSIONS = {"v1", "v1beta1"}
_PARTIAL = {"PartialObjectMetadata", "PartialObjectMetadataList"}


def media_types(accept: str) -> list[MediaType]:
    """Return the media types of an Accept header with their parameters, most preferred first."""
    found: list[tuple[float, MediaType]] = []
    for clause in accept.split(","):
        name, *rest = (part.strip() for part in clause.split(";"))
        if not name:
            continue
        parameters = {
            key.strip(): value.strip()
            for key, _, value in (parameter.partition("=") for parameter in rest)
        }
        try:
            quality = float(parameters.pop("q", "1"))
        except ValueError:
            quality = 1.0
        found.append((quality, (name.lower(), parameters)))
    return [media_type for _, media_type in sorted(found, key=lambda item: -item[0])]


def negotiate(accept: str) -> Representation:
    """Return the client's most preferred representation that is available.

    Raises:
        ApiError: 406 if none is available.
    """
    for name, parameters in media_types(accept) or [(_JSON, {})]:
        if name not in {_JSON, "*/*"}:
            continue
        wanted = parameters.get("as")
        if wanted is None:
            return "full"
        if parameters.get("g") != "meta.k8s.io":
            continue
        if wanted == "Table" and parameters.get("v") in _TABLE_VERSIONS:
            return "table"
        if wanted in _PARTIAL and parameters.get("v") == "v1":
            return "partial"
    raise not_acceptable()


def _head(resource: Resource) -> bytes:
    return encode({"kind": resource.kind, "apiVersion": resource.api_version})[:-1] + b","


def _body(resource: Resource, stored: Stored) -> bytes:
    if resource.group != EVENTS_GROUP or not resource.is_event:
        return stored.body
    view = stored.views.get(EVENTS_GROUP)
    if view is None:
        view = events.encode_view(stored.decode("v1", "Event"))
        stored.views[EVENTS_GROUP] = view
    return view


def whole(resource: Resource, stored: Stored) -> bytes:
    """Encode an object in the version of a resource."""
    return _head(resource) + _body(resource, stored)


def as_object(resource: Resource, stored: Stored) -> Object:
    found: Object = decode(whole(resource, stored))
    return found


def partial(_resource: Resource, stored: Stored) -> bytes:
    found = stored.views.get("partial")
    if found is None:
        metadata = decode(b"{" + stored.body)["metadata"]
        found = encode(
            {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
        )
        stored.views["partial"] = found
    return found


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
    rows = []
    for stored in items:
        # Event columns are defined on the core form, whichever view was requested.
        cells = tables.row(columns, stored.decode(resource.api_version, resource.kind), now)
        text = b'{"cells":' + encode(cells)
        if include == "Object":
            text += b',"object":' + whole(resource, stored)
        elif include == "Metadata":
            text += b',"object":' + partial(resource, stored)
        else:
            text += b',"object":null'
        rows.append(text + b"}")
    head: Object = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
    head["columnDefinitions"] = tables.definitions(columns) if with_definitions else None
    return encode(head)[:-1] + b',"rows":[' + b",".join(rows) + b"]}"


def list_of(
    resource: Resource,
    items: Sequence[Stored],
    *,
    representation: Representation,
    now: float,
    include: IncludeObject,
    metadata: Object,
) -> bytes:
    """Encode a list, or a Table in its place."""
    if representation == "table":
        return table_of(resource, items, now=now, include=include, metadata=metadata)
    if representation == "partial":
        kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
        parts = [partial(resource, stored) for stored in items]
    else:
        kind, version = resource.listed_as, resource.api_version
        # Lists of built-in kinds do not repeat the type in their items.
        head = _head(resource) if resource.custom else b"{"
        if resource.custom:
            # Lists of custom kinds are unstructured, and omit nothing.
            metadata = {"continue": "", **metadata}
        parts = [head + _body(resource, stored) for stored in items]
    envelope = encode({"kind": kind, "apiVersion": version, "metadata": metadata})
    return envelope[:-1] + b',"items":[' + b",".join(parts) + b"]}"


def event_line(kind: str, obj: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + obj + b"}\n"


def change_line(
    resource: Resource, change: Change, kind: EventType, *, representation: Representation
) -> bytes:
    """Encode a change for the watchers of one representation, once for all of them."""
    cache_key = (resource.api_version, representation, kind)
    line = change.encoded.get(cache_key)
    if line is None:
        render = partial if representation == "partial" else whole
        stored = last_match(change) if kind == "DELETED" else change.new
        line = change.encoded[cache_key] = event_line(kind, render(resource, stored))
    return line


def last_match(change: Change) -> Stored:
    """Return the state for a client whose selectors no longer match: the old one, new version."""
    if change.type == "DELETED" or change.old is None:
        return change.new
    obj = decode(b"{" + change.old.body)
    obj["metadata"]["resourceVersion"] = str(change.version)
    return Stored(change.old.key, change.version, obj, expires=None)
