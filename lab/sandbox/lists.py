"""Lists: selectors, versions and pages."""

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from lab.sandbox import events, jsonpath
from lab.sandbox.errors import ApiError, bad_request, expired, too_large
from lab.sandbox.list_options import check_options, read_uncached_version
from lab.sandbox.objects import JSON, Object, decode, dig, encode
from lab.sandbox.requests import read_number
from lab.sandbox.resources import EVENTS_GROUP, Resource
from lab.sandbox.selectors import Selector, parse_fields, parse_labels
from lab.sandbox.storage import Key, Storage, Stored

_SELECTABLE: dict[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "replicasets.apps": ("status.replicas",),
    "jobs.batch": ("status.successful",),
}
_ALWAYS = frozenset({"metadata.name", "metadata.namespace"})
_INCONSISTENT = -1
_TOO_OLD_TO_CONTINUE = (
    "The provided continue parameter is too old to display a consistent list result. You can start"
    " a new list without the continue parameter, or use the continue token in this response to"
    " retrieve the remainder of the results. Continuing with the provided token results in an"
    " inconsistent list - objects that were created, modified, or deleted between the time the"
    " first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Filter:
    """Selects the objects of a list or watch."""

    namespace: str
    labels: Selector
    fields: Selector
    extract: Callable[[Object], dict[str, str]]

    def matches(self, stored: Stored) -> bool:
        """Return whether an object belongs to the answer."""
        if self.namespace and stored.key.namespace != self.namespace:
            return False
        if self.labels and not self.labels.matches(stored.labels):
            return False
        return not self.fields or self.fields.matches(stored.fields(self.extract))

    @property
    def selective(self) -> bool:
        """Whether there is any selector."""
        return bool(self.labels) or bool(self.fields)


def read_filter(resource: Resource, namespace: str, query: Mapping[str, str]) -> Filter:
    """Parse the selectors of a request.

    Raises:
        ApiError: 400 if one cannot be parsed or uses an unsupported field.
    """
    names = _selectable(resource)
    known = names | (_ALWAYS if resource.namespaced or not resource.custom else {"metadata.name"})
    refusal = "field label not supported: {}"
    if not names and not resource.custom:
        refusal = '"{}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    return Filter(
        namespace,
        parse_labels(query.get("labelSelector", "")),
        parse_fields(query.get("fieldSelector", ""), known.__contains__, refusal),
        _extractor(resource),
    )


def _selectable(resource: Resource) -> frozenset[str]:
    if resource.is_event:
        return frozenset(events.selectable_fields(resource.group, {}))
    return frozenset(resource.selectable or _SELECTABLE.get(resource.collection, ()))


def _extractor(resource: Resource) -> Callable[[Object], dict[str, str]]:
    if resource.is_event:
        # One cache serves both views: equal names mean the same in both.
        return lambda event: {
            **events.selectable_fields(EVENTS_GROUP, event),
            **events.selectable_fields("", event),
        }
    if resource.custom:
        return lambda obj: {name: _text(jsonpath.first(obj, name)) for name in resource.selectable}
    names = _SELECTABLE.get(resource.collection, ())
    return lambda obj: {name: _text(dig(obj, *name.split("."))) for name in names}


def _text(value: JSON) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class ServedPage:
    """A part of a list with the metadata of its envelope."""

    items: list[Stored]
    metadata: Object


def list_page(
    storage: Storage, resource: Resource, wanted: Filter, *, query: Mapping[str, str]
) -> ServedPage:
    """Return one page of a list.

    Raises:
        ApiError: 410 if its version has been compacted, 504 if it is in the future.
    """
    check_options(query, watch=False)
    version, after, limit = _position(storage, resource, query)
    candidates = _candidates(storage, resource, wanted, version=version, after=after)
    found = filter(wanted.matches, candidates)
    metadata: Object = {"resourceVersion": str(version)}
    if not limit:
        return ServedPage(list(found), metadata)
    items = list(islice(found, limit))
    # The rest is not filtered, so the last page of a selection may be empty.
    remaining = sum(1 for _ in candidates)
    if remaining:
        metadata["continue"] = _token(version, items[-1].key)
        if not wanted.selective:
            metadata["remainingItemCount"] = remaining
    return ServedPage(items, metadata)


def _position(
    storage: Storage, resource: Resource, query: Mapping[str, str]
) -> tuple[int, Key | None, int]:
    """Return the version and the key after which a page is read, and its limit."""
    limit = max(read_number(query, "limit"), 0)
    asked, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    compacted = storage.collection(resource.collection).compacted
    if resume := query.get("continue", ""):
        if asked not in {"", "0"}:
            raise bad_request("specifying resource version is not allowed when using continue")
        version, after = _read_token(resume)
        if version == _INCONSISTENT:
            return storage.version, after, limit
        if version < compacted:
            raise expired(_TOO_OLD_TO_CONTINUE, resume=_token(_INCONSISTENT, after))
        return version, after, limit
    number = read_uncached_version(asked)
    check_reached(storage, resource, number)
    if match == "Exact" or (limit and number and not match):
        if number < compacted:
            raise expired("The resourceVersion for the provided list is too old.")
        return number, None, limit
    if asked and number == 0 and not resource.is_event:
        # Answered from the watch cache, which does not page.
        limit = 0
    return storage.version, None, limit


def check_reached(storage: Storage, resource: Resource, version: int) -> None:
    """Refuse a future version; a real server waits 3 s for it first.

    Raises:
        ApiError: 504; without a retry time for Events, which have no cache.
    """
    if version > storage.version:
        raise too_large(version, storage.version, retry=not resource.is_event)


def _candidates(
    storage: Storage, resource: Resource, wanted: Filter, *, version: int, after: Key | None
) -> Iterator[Stored]:
    collection = storage.collection(resource.collection)
    name = wanted.fields.exact("metadata.name")
    if version < storage.version:
        return collection.range_at(version, wanted.namespace, after)
    if name is not None and (wanted.namespace or not resource.namespaced):
        found = collection.objects.get(Key(wanted.namespace, name))
        return iter((found,) if found is not None else ())
    return collection.range(wanted.namespace, after)


def _token(version: int, after: Key | None) -> str:
    start = [*after] if after else ["", ""]
    token = encode({"v": "meta.k8s.io/v1", "rv": version, "start": start})
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def _read_token(text: str) -> tuple[int, Key]:
    try:
        token = decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        namespace, name = token["start"]
        return int(token["rv"]), Key(str(namespace), str(name))
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise _bad_token(str(error)) from None


def _bad_token(why: str) -> ApiError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")
