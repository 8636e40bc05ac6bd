"""Handles requests on resources: each verb, from query and body to the encoded answer."""

import contextlib
from collections.abc import Iterator, Mapping
from http import HTTPStatus

from aiohttp import hdrs, web

from lab.sandbox.access import Access
from lab.sandbox.bodies import duplicate_fields, read_object, read_patch
from lab.sandbox.deletion import Deletion
from lab.sandbox.errors import ApiError, UnknownPathError, bad_request
from lab.sandbox.faults import Faults, OpenWatch
from lab.sandbox.lists import (
    EVERYTHING,
    check_reached,
    list_page,
    read_filter,
    read_uncached_version,
    read_version,
)
from lab.sandbox.objects import JSON, Object, encode
from lab.sandbox.operations import Operations
from lab.sandbox.patching import json_patch, merge_patch
from lab.sandbox.representation import IncludeObject, list_of, negotiate, partial, table_of, whole
from lab.sandbox.requests import (
    ResourceRequest,
    WriteOptions,
    is_dry_run,
    read_write_options,
    require_manager,
)
from lab.sandbox.storage import Stored
from lab.sandbox.subresources import ContainerLogs, change_scale, scale_of
from lab.sandbox.watching import Watch, read_options

_INCLUDE: dict[str, IncludeObject] = {"None": "None", "Metadata": "Metadata", "Object": "Object"}
_REVIEWS = {
    "selfsubjectaccessreviews": "review",
    "selfsubjectrulesreviews": "rules_review",
    "subjectaccessreviews": "review_of_reader",
    "tokenreviews": "review_of_token",
}


class ResourceHandlers:
    def __init__(
        self,
        operations: Operations,
        deletion: Deletion,
        access: Access,
        *,
        faults: Faults,
        logs: ContainerLogs,
        bookmark_seconds: float,
    ) -> None:
        self._operations = operations
        self._storage = operations.storage
        self._deletion = deletion
        self._access = access
        self._faults = faults
        self._logs = logs
        self._bookmark_seconds = bookmark_seconds

    async def answer(  # noqa: PLR0911 - one for each verb
        self, request: web.Request, wanted: ResourceRequest
    ) -> web.Response:
        """Answer any request except a watch."""
        raw = await request.read() if request.can_read_body else b""
        if wanted.resource.plural in _REVIEWS:
            return self._review(request, wanted, raw)
        self.authorize(wanted, request.query)
        match wanted.verb:
            case "get":
                return self._get(request, wanted)
            case "list":
                return self._list(request, wanted)
            case "create":
                return self._create(request, wanted, raw)
            case "update":
                return self._update(request, wanted, raw)
            case "patch":
                return self._patch(request, wanted, raw)
            case "delete":
                return self._delete(request, wanted, read_object(raw, request.content_type))
            case "deletecollection":
                return self._delete_collection(request, wanted)
            case _:
                raise UnknownPathError(request.path)

    def authorize(self, wanted: ResourceRequest, query: Mapping[str, str]) -> None:
        """Refuse a request that the rules do not allow.

        Raises:
            ApiError: 403.
        """
        name = ""
        if wanted.verb in {"list", "watch"}:
            # A list with a selector for one name counts as a read of that name.
            try:
                selector = read_filter(wanted.resource, wanted.namespace, query).fields
            except ApiError:
                selector = EVERYTHING
            name = selector.exact("metadata.name") or ""
        self._access.check(wanted, name=name)

    def open_watch(self, request: web.Request, wanted: ResourceRequest) -> Watch:
        """Prepare a watch.

        Raises:
            ApiError: its parameters are invalid.
        """
        query = request.query
        return Watch(
            resource=wanted.resource,
            wanted=read_filter(wanted.resource, wanted.namespace, query),
            options=read_options(query),
            representation=negotiate(request.headers.get(hdrs.ACCEPT, "")),
            include=_include(request),
            storage=self._storage,
            bookmark_seconds=self._bookmark_seconds,
        )

    @contextlib.contextmanager
    def opened(self, request: web.Request, wanted: ResourceRequest, watch: Watch) -> Iterator[None]:
        """Register a watch with the faults while it is open."""
        opened = OpenWatch(wanted, request.path, watch, request.transport)
        self._faults.opened(opened)
        try:
            yield
        finally:
            self._faults.closed(opened)

    def _get(self, request: web.Request, wanted: ResourceRequest) -> web.Response:
        read = read_uncached_version if wanted.resource.is_event else read_version
        version = read(request.query.get("resourceVersion", ""))
        check_reached(self._storage, wanted.resource, version)
        stored = self._operations.find(wanted)
        if wanted.subresource == "log":
            return web.Response(text=self._logs.read(wanted.namespace, wanted.name, request.query))
        return self._object(request, wanted, stored)

    def _list(self, request: web.Request, wanted: ResourceRequest) -> web.Response:
        representation = negotiate(request.headers.get(hdrs.ACCEPT, ""))
        selected = read_filter(wanted.resource, wanted.namespace, request.query)
        page = list_page(self._storage, wanted.resource, selected, query=request.query)
        body = list_of(
            wanted.resource,
            page.items,
            representation=representation,
            now=self._storage.clock(),
            include=_include(request),
            metadata=page.metadata,
        )
        return web.Response(body=body, content_type="application/json")

    def _create(self, request: web.Request, wanted: ResourceRequest, raw: bytes) -> web.Response:
        options = read_write_options(request.query, request.headers, wanted.verb)
        body = _read_object(request, wanted, raw, options=options)
        stored = self._operations.create(wanted, body, options)
        return _warned(self._object(request, wanted, stored, created=True), options)

    def _update(self, request: web.Request, wanted: ResourceRequest, raw: bytes) -> web.Response:
        options = read_write_options(request.query, request.headers, wanted.verb)
        body = _read_object(request, wanted, raw, options=options)
        if wanted.subresource == "scale":
            stored = change_scale(self._operations, wanted, lambda _: body, options=options)
            return self._object(request, wanted, stored)
        self._authorize_creation(wanted)
        stored, created = self._operations.update(wanted, body, options)
        return _warned(self._object(request, wanted, stored, created=created), options)

    def _patch(self, request: web.Request, wanted: ResourceRequest, raw: bytes) -> web.Response:
        options = read_write_options(request.query, request.headers, wanted.verb)
        patch_type, body = read_patch(raw, request.content_type)
        if wanted.subresource == "scale":
            apply = json_patch if patch_type == "json" else merge_patch
            stored = change_scale(
                self._operations, wanted, lambda old: apply(old, body), options=options
            )
            return self._object(request, wanted, stored)
        if patch_type == "apply":
            require_manager(request.query)
            self._authorize_creation(wanted)
        stored, created = self._operations.patch(wanted, patch_type, body, options=options)
        return _warned(self._object(request, wanted, stored, created=created), options)

    def _authorize_creation(self, wanted: ResourceRequest) -> None:
        """Require the right to create for a write to a free name; a rule may be limited to it."""
        if wanted.subresource:
            return
        if self._operations.stored(wanted) is None:
            self._access.check(wanted, verb="create")

    def _delete(
        self, request: web.Request, wanted: ResourceRequest, options: Object
    ) -> web.Response:
        resource = wanted.resource
        stored, gone = self._deletion.delete(
            wanted, options=options, dry_run=is_dry_run(request.query)
        )
        if not gone:
            return self._object(request, wanted, stored)
        details: Object = {"name": wanted.name, "kind": resource.plural, "uid": stored.uid}
        if resource.group:
            details["group"] = resource.group
        return _json(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": details,
            }
        )

    def _delete_collection(self, request: web.Request, wanted: ResourceRequest) -> web.Response:
        selected = read_filter(wanted.resource, wanted.namespace, request.query)
        page = list_page(self._storage, wanted.resource, selected, query={})
        if not is_dry_run(request.query):
            self._deletion.delete_each(wanted.resource, page.items)
        body = list_of(
            wanted.resource,
            page.items,
            representation="full",
            now=self._storage.clock(),
            include="None",
            metadata={"resourceVersion": str(self._storage.version)},
        )
        return web.Response(body=body, content_type="application/json")

    def _review(self, request: web.Request, wanted: ResourceRequest, raw: bytes) -> web.Response:
        body = read_object(raw, request.content_type)
        if not wanted.resource.plural.startswith("self"):
            self.authorize(wanted, request.query)
        answer = getattr(self._access, _REVIEWS[wanted.resource.plural])(body)
        return _json(answer, HTTPStatus.CREATED)

    def _object(
        self,
        request: web.Request,
        wanted: ResourceRequest,
        stored: Stored,
        *,
        created: bool = False,
    ) -> web.Response:
        status = HTTPStatus.CREATED if created else HTTPStatus.OK
        resource = wanted.resource
        if wanted.subresource == "scale":
            obj = stored.decode(resource.api_version, resource.kind)
            return _json(scale_of(resource, obj), status)
        match negotiate(request.headers.get(hdrs.ACCEPT, "")):
            case "table":
                body = table_of(
                    resource,
                    [stored],
                    now=self._storage.clock(),
                    include=_include(request),
                    metadata={"resourceVersion": str(stored.version)},
                )
            case "partial":
                body = partial(resource, stored)
            case _:
                body = whole(resource, stored)
        return web.Response(status=status, body=body, content_type="application/json")


def _include(request: web.Request) -> IncludeObject:
    return _INCLUDE.get(request.query.get("includeObject", ""), "Metadata")


def _read_object(
    request: web.Request, wanted: ResourceRequest, raw: bytes, *, options: WriteOptions
) -> Object:
    if not raw:
        raise bad_request(
            "the object provided is unrecognized: unexpected end of JSON input (<empty>)"
        )
    body = read_object(raw, request.content_type)
    twice = duplicate_fields(raw) if request.content_type == "application/json" else []
    options.problems.add(wanted.resource, [f'duplicate field "{path}"' for path in twice])
    return body


def _warned(answer: web.Response, options: WriteOptions) -> web.Response:
    for problem in options.problems.found:
        quoted = problem.replace('"', '\\"')
        answer.headers.add(hdrs.WARNING, f'299 - "{quoted}"')
    return answer


def _json(document: JSON, status: HTTPStatus = HTTPStatus.OK) -> web.Response:
    return web.Response(status=status, body=encode(document), content_type="application/json")
