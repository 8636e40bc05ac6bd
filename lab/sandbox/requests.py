"""Parses requests from method, path and query; and the log of requests."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec
from aiohttp import hdrs

from lab.sandbox.errors import (
    ApiError,
    UnknownPathError,
    bad_request,
    invalid_options,
    method_not_allowed,
    not_found,
    required_value,
    unknown_resource,
)
from lab.sandbox.resources import Registry, Resource

_TRUE = frozenset({"1", "t", "T", "true", "True", "TRUE"})
_SUBRESOURCES_OF_NAMESPACES = frozenset({"status", "finalize"})
_NAMED_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_PLAIN_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_MAX_SEGMENTS = 3
"""Of a resource below its version and namespace: plural, name, subresource."""

_KEPT_REQUESTS = 1000
_MAX_MANAGER = 128


def is_true(value: str | None) -> bool:
    """Return whether a boolean query parameter is set, in any spelling that Go accepts."""
    return value in _TRUE


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRequest:
    resource: Resource
    verb: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    def not_found(self) -> ApiError:
        return not_found(self.resource.group, self.resource.plural, self.name)

    @property
    def target(self) -> str:
        """The resource with its subresource, as RBAC rules name it."""
        plural = self.resource.plural
        return f"{plural}/{self.subresource}" if self.subresource else plural


def read_request(
    registry: Registry, method: str, path: str, *, query: Mapping[str, str]
) -> ResourceRequest:
    """Parse a request on a resource path.

    Raises:
        UnknownPathError: nothing is served at the path, and the group is not built in.
        ApiError: 404 if the group is built in, 405 if the resource does not have the verb.
    """
    asked = read_unserved_request(method, path, query)
    if asked is None:
        raise UnknownPathError(path)
    at = asked.resource
    resource = registry.by_path(at.group, at.version, at.plural)
    if resource is None or not _fits(resource, asked):
        if registry.is_built_in(at.group):
            raise unknown_resource()
        raise UnknownPathError(path)
    allowed = _verbs_of(asked.subresource) if asked.subresource else resource.verbs
    in_no_namespace = resource.namespaced and not asked.namespace
    if asked.verb not in allowed or (in_no_namespace and asked.verb == "create"):
        raise method_not_allowed()
    return replace(asked, resource=resource)


def read_unserved_request(
    method: str, path: str, query: Mapping[str, str]
) -> ResourceRequest | None:
    """Parse a request on a path that need not be served; None if it is not a resource path."""
    match path.strip("/").split("/"):
        case ["api", version, *rest]:
            group = ""
        case ["apis", group, version, *rest]:
            pass
        case _:
            return None
    namespace = ""
    match rest:
        case ["namespaces", _, part] if part in _SUBRESOURCES_OF_NAMESPACES and not group:
            pass
        case ["namespaces", namespace, _, *_]:
            rest = rest[2:]
    if not rest or not all(rest) or len(rest) > _MAX_SEGMENTS:
        return None
    plural, name, subresource = (*rest, "", "")[:_MAX_SEGMENTS]
    verb = (_NAMED_VERBS if name else _PLAIN_VERBS).get(method, "")
    return ResourceRequest(
        resource=Resource(group=group, version=version, plural=plural, kind=""),
        verb="watch" if verb == "list" and is_true(query.get("watch")) else verb,
        namespace=namespace,
        name=name,
        subresource=subresource,
    )


def _fits(resource: Resource, asked: ResourceRequest) -> bool:
    if asked.namespace and not resource.namespaced:
        return False
    if asked.name and resource.namespaced and not asked.namespace:
        return False
    match asked.subresource:
        case "":
            return True
        case "log":
            return resource.name == "pods"
        case "scale":
            return resource.scale is not None
    return asked.subresource == "status" and resource.status


def _verbs_of(subresource: str) -> tuple[str, ...]:
    return ("get",) if subresource == "log" else ("get", "patch", "update")


def read_number(query: Mapping[str, str], name: str) -> int:
    """Parse a whole number of the query; 0 if it is missing; ApiError 400 if it is not a number."""
    text = query.get(name) or "0"
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


class LoggedRequest(msgspec.Struct, frozen=True):
    """One answered request; for a watch, one that has started."""

    method: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int
    path: str


class RequestLog:
    def __init__(self) -> None:
        self.counters: Counter[tuple[str, str, str, int]] = Counter()
        self.recent: deque[LoggedRequest] = deque(maxlen=_KEPT_REQUESTS)

    def add(self, request: LoggedRequest) -> None:
        key = (request.method, request.verb, request.resource, request.code)
        self.counters[key] += 1
        self.recent.append(request)

    def count(
        self, *, verb: str | None = None, resource: str | None = None, code: int | None = None
    ) -> int:
        wanted = (verb, resource, code)
        return sum(
            count
            for key, count in self.counters.items()
            if all(want is None or want == have for want, have in zip(wanted, key[1:], strict=True))
        )

    def clear(self) -> None:
        self.counters.clear()
        self.recent.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    manager: str = "sandbox"
    force: bool = False
    through: str = ""
    """A subresource for managedFields to name although the main resource is written."""


DEFAULT_OPTIONS = WriteOptions()


def read_write_options(query: Mapping[str, str], headers: Mapping[str, str]) -> WriteOptions:
    manager = query.get("fieldManager") or headers.get(hdrs.USER_AGENT, "unknown").split("/")[0]
    return WriteOptions(manager=manager[:_MAX_MANAGER], force=is_true(query.get("force")))


def require_manager(query: Mapping[str, str]) -> None:
    """Refuse an apply without a field manager: ApiError 422."""
    if not query.get("fieldManager"):
        missing = required_value("fieldManager", "is required for apply patch")
        raise invalid_options("PatchOptions", missing)
