"""Parses requests from method, path and query; and the log of requests."""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from aiohttp import hdrs

from lab.sandbox.errors import (
    ApiError,
    DecodeError,
    UnknownPathError,
    bad_request,
    invalid_options,
    method_not_allowed,
    not_found,
    required_value,
    unknown_resource,
    unsupported_value,
)
from lab.sandbox.resources import Registry, Resource

_TRUE = frozenset({"1", "t", "T", "true", "True", "TRUE"})
_SUBRESOURCES_OF_NAMESPACES = frozenset({"status", "finalize"})
_NAMED_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_PLAIN_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_CORE_PREFIX, _GROUP_PREFIX = 2, 3
_MAX_NAMED_SEGMENTS = 3
_KEPT_REQUESTS = 1000


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
        """404: no such object."""
        return not_found(self.resource.group, self.resource.plural, self.name)

    @property
    def target(self) -> str:
        """The resource with its subresource, as RBAC rules name it."""
        plural = self.resource.plural
        return f"{plural}/{self.subresource}" if self.subresource else plural


@dataclass(frozen=True, slots=True)
class _Location:
    group: str
    version: str
    namespace: str
    plural: str
    name: str
    subresource: str


def read_request(
    registry: Registry, method: str, path: str, *, query: Mapping[str, str]
) -> ResourceRequest:
    """Parse a request on a resource path.

    Raises:
        UnknownPathError: nothing is served at the path, and the group is not built in.
        ApiError: 404 if the group is built in, 405 if the resource does not have the verb.
    """
    at = _locate(path)
    if at is None:
        raise UnknownPathError(path)
    resource = registry.by_path(at.group, at.version, at.plural)
    if resource is None or not _fits(resource, at):
        if registry.is_built_in(at.group):
            raise unknown_resource()
        raise UnknownPathError(path)
    verb = _verb(at, method, query)
    allowed = _verbs_of(at.subresource) if at.subresource else resource.verbs
    if verb not in allowed or (resource.namespaced and not at.namespace and verb == "create"):
        raise method_not_allowed()
    return _request(resource, at, verb)


def read_unserved_request(
    method: str, path: str, query: Mapping[str, str]
) -> ResourceRequest | None:
    """Parse a request on a path that need not be served; None if it is not a resource path."""
    at = _locate(path)
    if at is None:
        return None
    resource = Resource(group=at.group, version=at.version, plural=at.plural, kind="")
    return _request(resource, at, _verb(at, method, query))


def _request(resource: Resource, at: _Location, verb: str) -> ResourceRequest:
    return ResourceRequest(
        resource=resource,
        verb=verb,
        namespace=at.namespace,
        name=at.name,
        subresource=at.subresource,
    )


def _locate(path: str) -> _Location | None:
    segments = path.strip("/").split("/")
    if segments[0] == "api" and len(segments) > _CORE_PREFIX:
        group, version, rest = "", segments[1], segments[2:]
    elif segments[0] == "apis" and len(segments) > _GROUP_PREFIX:
        group, version, rest = segments[1], segments[2], segments[3:]
    else:
        return None
    namespace = ""
    if (
        len(rest) >= _MAX_NAMED_SEGMENTS
        and rest[0] == "namespaces"
        and not (rest[2] in _SUBRESOURCES_OF_NAMESPACES and group == "")
    ):
        namespace, rest = rest[1], rest[2:]
    if not all(rest) or len(rest) > _MAX_NAMED_SEGMENTS:
        return None
    plural, name, subresource = (*rest, "", "")[:_MAX_NAMED_SEGMENTS]
    return _Location(group, version, namespace, plural, name, subresource)


def _fits(resource: Resource, at: _Location) -> bool:
    if at.namespace and not resource.namespaced:
        return False
    if at.name and resource.namespaced and not at.namespace:
        return False
    return not at.subresource or _has_subresource(resource, at.subresource)


def _verb(at: _Location, method: str, query: Mapping[str, str]) -> str:
    verb = (_NAMED_VERBS if at.name else _PLAIN_VERBS).get(method, "")
    return "watch" if verb == "list" and is_true(query.get("watch")) else verb


def _verbs_of(subresource: str) -> tuple[str, ...]:
    return ("get",) if subresource == "log" else ("get", "patch", "update")


def _has_subresource(resource: Resource, subresource: str) -> bool:
    if subresource == "log":
        return (resource.group, resource.plural) == ("", "pods")
    if subresource == "scale":
        return resource.scale is not None
    return subresource == "status" and resource.status


def read_number(query: Mapping[str, str], name: str) -> int:
    """Parse a whole number of the query; 0 if it is missing.

    Raises:
        ApiError: 400 if it is not a number.
    """
    text = query.get(name, "")
    if not text:
        return 0
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One answered request; for a watch, one that has started."""

    method: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int
    path: str


class RequestLog:
    """Counters of requests, and the latest requests."""

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


_MAX_MANAGER = 128
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")


@dataclass(slots=True)
class Problems:
    """Unknown or duplicate fields of a body, and how to treat them.

    Attributes:
        validation: Ignore, Warn or Strict, the query parameter fieldValidation.
        found: the problems to warn about.
    """

    validation: str = "Ignore"
    found: list[str] = field(default_factory=list)

    def add(self, resource: Resource, problems: Iterable[str]) -> None:
        """Add problems.

        Raises:
            DecodeError: there are problems and validation is strict.
        """
        self.found += [] if self.validation == "Ignore" else problems
        if self.found and self.validation == "Strict":
            why = f"strict decoding error: {', '.join(self.found)}"
            raise DecodeError(resource.version, resource.kind, why)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    manager: str = "sandbox"
    force: bool = False
    dry_run: bool = False
    problems: Problems = field(default_factory=Problems)
    through: str = ""
    """A subresource for managedFields to name although the main resource is written."""


DEFAULT_OPTIONS = WriteOptions()


def read_write_options(
    query: Mapping[str, str], headers: Mapping[str, str], verb: str
) -> WriteOptions:
    """Parse the options of a request.

    Raises:
        ApiError: 422 for an unknown fieldValidation.
    """
    manager = query.get("fieldManager", "")
    if not manager:
        manager = headers.get(hdrs.USER_AGENT, "unknown").split("/")[0]
    return WriteOptions(
        manager=manager[:_MAX_MANAGER],
        force=is_true(query.get("force")),
        dry_run=is_dry_run(query),
        problems=Problems(_validation(query, verb)),
    )


def _validation(query: Mapping[str, str], verb: str) -> str:
    given = query.get("fieldValidation", "")
    if given not in _VALIDATIONS:
        error = unsupported_value("fieldValidation", given, _VALIDATIONS)
        raise invalid_options(f"{verb.capitalize()}Options", [error])
    return given or "Warn"


def is_dry_run(query: Mapping[str, str]) -> bool:
    """Return whether a request is a dry run, which stores nothing."""
    return query.get("dryRun") == "All"


def require_manager(query: Mapping[str, str]) -> None:
    """Refuse an apply without a field manager.

    Raises:
        ApiError: 422.
    """
    if not query.get("fieldManager"):
        raise invalid_options(
            "PatchOptions", [required_value("fieldManager", "is required for apply patch")]
        )
