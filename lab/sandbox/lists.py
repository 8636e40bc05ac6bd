"""Lists: selectors, versions and pages."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from lab.sandbox import events
from lab.sandbox.errors import (
    bad_request,
    expired,
    too_large,
)
from lab.sandbox.objects import JSON, Object, decode, encode, value_at
from lab.sandbox.requests import read_number
from lab.sandbox.resources import Resource
from lab.sandbox.storage import Key, Storage, Stored

_KEY = re.compile(r"([A-Za-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?")
_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\((.*)\)$")
_EQUALITY = re.compile(r"^([^=!\s]+)\s*(==|=|!=)\s*(.*)$")
_TERM = re.compile(r"(?:[^,(]|\([^)]*\)?)+")
"""Text up to a comma that is not between parentheses."""

_MAX_VALUE = 63


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term; `values` is None for a test of existence."""

    key: str
    values: frozenset[str] | None
    negated: bool = False

    def matches(self, values: Mapping[str, str]) -> bool:
        found = values.get(self.key)
        if self.values is None:
            return (found is not None) is not self.negated
        return (found is not None and found in self.values) is not self.negated


@dataclass(frozen=True, slots=True)
class Selector:
    requirements: tuple[Requirement, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.requirements)

    def matches(self, values: Mapping[str, str]) -> bool:
        return all(requirement.matches(values) for requirement in self.requirements)

    def exact(self, key: str) -> str | None:
        """Return the only value that `key` may have, or None if there are several or any."""
        for requirement in self.requirements:
            if requirement.key == key and requirement.values and not requirement.negated:
                (value, *others) = requirement.values
                return None if others else value
        return None


EVERYTHING = Selector()


def parse_labels(text: str) -> Selector:
    """Parse a label selector; ApiError 400 if it cannot be parsed."""
    terms = (term.strip() for term in _TERM.findall(text))
    return Selector(tuple(_label_term(term, text) for term in terms if term))


def _label_term(term: str, whole: str) -> Requirement:
    if match := _SET.match(term):
        key, operator, inside = match.groups()
        values = frozenset(value.strip() for value in inside.split(","))
        requirement = Requirement(key, values, operator == "notin")
    elif match := _EQUALITY.match(term):
        key, operator, value = match.groups()
        requirement = Requirement(key, frozenset({value.strip()}), operator == "!=")
    elif term.startswith("!"):
        requirement = Requirement(term[1:].strip(), None, negated=True)
    else:
        requirement = Requirement(term, None)
    if not _KEY.fullmatch(requirement.key):
        raise bad_request(f'unable to parse requirement: invalid label key "{term}" in "{whole}"')
    for value in requirement.values or ():
        if not _VALUE.fullmatch(value) or len(value) > _MAX_VALUE:
            raise bad_request(f'unable to parse requirement: values[0]: Invalid value: "{value}"')
    return requirement


def parse_fields(text: str, supported: Callable[[str], bool], refusal: str) -> Selector:
    """Parse a field selector, or raise ApiError 400; `refusal` is about unsupported fields."""
    requirements = []
    for term in filter(None, text.split(",")):
        match = re.match(r"^([^=!]*)(==|=|!=)(.*)$", term)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        key, operator, value = match.groups()
        if not supported(key):
            raise bad_request(refusal.format(key))
        value = re.sub(r"\\(.)", r"\1", value)
        requirements.append(Requirement(key, frozenset({value}), operator == "!="))
    return Selector(tuple(requirements))


def from_label_selector(selector: Mapping[str, object]) -> Selector:
    terms: list[Requirement] = []
    labels = selector.get("matchLabels")
    if isinstance(labels, dict):
        terms += [Requirement(str(key), frozenset({str(value)})) for key, value in labels.items()]
    expressions = selector.get("matchExpressions")
    for item in expressions if isinstance(expressions, list) else []:
        operator = item.get("operator")
        values = None if operator in {"Exists", "DoesNotExist"} else frozenset(item["values"])
        terms.append(Requirement(item["key"], values, operator in {"NotIn", "DoesNotExist"}))
    return Selector(tuple(terms))


_SELECTABLE: dict[str, tuple[str, ...]] = {
    "pods": ("spec.nodeName", "spec.serviceAccountName", "status.phase", "status.podIP"),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "replicasets.apps": ("status.replicas",),
    "jobs.batch": ("status.successful",),
}
_ALWAYS = frozenset({"metadata.name", "metadata.namespace"})


@dataclass(frozen=True, slots=True)
class Filter:
    namespace: str
    labels: Selector
    fields: Selector
    extract: Callable[[Object], dict[str, str]]

    def matches(self, stored: Stored) -> bool:
        if self.namespace and stored.key.namespace != self.namespace:
            return False
        if self.labels and not self.labels.matches(stored.labels):
            return False
        return not self.fields or self.fields.matches(stored.fields(self.extract))

    @property
    def selective(self) -> bool:
        return bool(self.labels) or bool(self.fields)


def read_filter(resource: Resource, namespace: str, query: Mapping[str, str]) -> Filter:
    """Parse the selectors of a request, or raise ApiError 400."""
    extract = _extractor(resource)
    names = extract({}).keys()
    known = names | (_ALWAYS if resource.namespaced or not resource.custom else {"metadata.name"})
    refusal = "field label not supported: {}"
    if not names and not resource.custom:
        refusal = '"{}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    return Filter(
        namespace,
        parse_labels(query.get("labelSelector", "")),
        parse_fields(query.get("fieldSelector", ""), known.__contains__, refusal),
        extract,
    )


def _extractor(resource: Resource) -> Callable[[Object], dict[str, str]]:
    """Return what finds the fields of an object that selectors can use, and their values."""
    if resource.is_event:
        return events.selectable_fields
    names = resource.selectable or _SELECTABLE.get(resource.name, ())
    return lambda obj: {name: _text(value_at(obj, name)) for name in names}


def _text(value: JSON) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


class ServedPage(NamedTuple):
    """A part of a list with the metadata of its envelope."""

    items: list[Stored]
    metadata: Object


def list_page(
    storage: Storage, resource: Resource, wanted: Filter, *, query: Mapping[str, str]
) -> ServedPage:
    """Return one page of a list; ApiError 410 if its version is compacted, 504 if in the future."""
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
    compacted = storage.collection(resource.name).compacted
    if resume := query.get("continue", ""):
        if asked not in {"", "0"}:
            raise bad_request("specifying resource version is not allowed when using continue")
        version, after = _read_token(resume)
        if version < compacted:
            raise expired("The provided continue parameter is too old.")
        return version, after, limit
    number = read_number(query, "resourceVersion")
    check_reached(storage, number)
    if match == "Exact" or (limit and number and not match):
        if number < compacted:
            raise expired("The resourceVersion for the provided list is too old.")
        return number, None, limit
    if asked and number == 0 and not resource.is_event:
        # Answered from the watch cache, which does not page.
        limit = 0
    return storage.version, None, limit


def check_reached(storage: Storage, version: int) -> None:
    """Refuse a future version: ApiError 504; a real server waits 3 s for it first."""
    if version > storage.version:
        raise too_large(version, storage.version)


def _candidates(
    storage: Storage, resource: Resource, wanted: Filter, *, version: int, after: Key | None
) -> Iterator[Stored]:
    collection = storage.collection(resource.name)
    name = wanted.fields.exact("metadata.name")
    if version < storage.version:
        return collection.range_at(version, wanted.namespace, after)
    if name is not None and (wanted.namespace or not resource.namespaced):
        found = collection.objects.get(Key(wanted.namespace, name))
        return iter((found,) if found is not None else ())
    return collection.range(wanted.namespace, after)


def _token(version: int, after: Key) -> str:
    token = encode({"v": "meta.k8s.io/v1", "rv": version, "start": after})
    return base64.urlsafe_b64encode(token).decode().rstrip("=")


def _read_token(text: str) -> tuple[int, Key]:
    try:
        token = decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        namespace, name = token["start"]
        return int(token["rv"]), Key(str(namespace), str(name))
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        why = f"continue key is not valid: {error}"
        raise bad_request(f"invalid continue token: {why}") from None
