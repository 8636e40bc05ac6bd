"""Handles requests on resources: each verb, from query and body to the encoded answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import hdrs, web

from lab.sandbox.access import Access
from lab.sandbox.bodies import read_object, read_patch
from lab.sandbox.deletion import Deletion
from lab.sandbox.errors import ApiError, UnknownPathError, bad_request
from lab.sandbox.lists import (
    EVERYTHING,
    check_reached,
    list_page,
    read_filter,
)
from lab.sandbox.objects import JSON, encode
from lab.sandbox.operations import Operations
from lab.sandbox.patching import merge_patch
from lab.sandbox.representation import IncludeObject, list_of, negotiate, table_of, whole
from lab.sandbox.requests import ResourceRequest, read_number, read_write_options, require_manager
from lab.sandbox.storage import Storage, Stored
from lab.sandbox.subresources import ContainerLogs, change_scale, scale_of
from lab.sandbox.watching import Watch, read_options

_INCLUDE: dict[str, IncludeObject] = {"None": "None", "Metadata": "Metadata", "Object": "Object"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceHandlers:
    operations: Operations
    deletion: Deletion
    access: Access
    logs: ContainerLogs
    bookmark_seconds: float

    @property
    def storage(self) -> Storage:
        return self.operations.storage

    async def answer(self, request: web.Request, wanted: ResourceRequest) -> web.Response:
        raw = await request.read() if request.can_read_body else b""
        review = self.access.reviews.get(wanted.resource.plural)
        if review is None or not wanted.resource.plural.startswith("self"):
            self.authorize(wanted, request.query)
        if review is not None:
            return answered(review(read_object(raw, request.content_type)), HTTPStatus.CREATED)
        match wanted.verb:
            case "get":
                return self._get(request, wanted)
            case "list":
                return self._list(request, wanted)
            case "create" | "update" | "patch":
                return self._write(request, wanted, raw)
            case "delete":
                return self._delete(request, wanted)
            case "deletecollection":
                return self._delete_collection(request, wanted)
        raise UnknownPathError(request.path)

    def authorize(self, wanted: ResourceRequest, query: Mapping[str, str]) -> None:
        """Refuse a request that the rules do not allow: ApiError 403."""
        name = ""
        if wanted.verb in {"list", "watch"}:
            # A list with a selector for one name counts as a read of that name.
            try:
                selector = read_filter(wanted.resource, wanted.namespace, query).fields
            except ApiError:
                selector = EVERYTHING
            name = selector.exact("metadata.name") or ""
        self.access.check(wanted, name=name)

    def open_watch(self, request: web.Request, wanted: ResourceRequest) -> Watch:
        """Prepare a watch; ApiError if its parameters are invalid."""
        query = request.query
        return Watch(
            resource=wanted.resource,
            wanted=read_filter(wanted.resource, wanted.namespace, query),
            options=read_options(query),
            representation=negotiate(request.headers.get(hdrs.ACCEPT, "")),
            include=_include(request),
            storage=self.storage,
            bookmark_seconds=self.bookmark_seconds,
            transport=request.transport,
        )

    def _get(self, request: web.Request, wanted: ResourceRequest) -> web.Response:
        check_reached(self.storage, read_number(request.query, "resourceVersion"))
        stored = self.operations.find(wanted)
        if wanted.subresource == "log":
            return web.Response(text=self.logs.read(wanted.namespace, wanted.name, request.query))
        return self._object(request, wanted, stored)

    def _list(self, request: web.Request, wanted: ResourceRequest) -> web.Response:
        resource = wanted.resource
        representation = negotiate(request.headers.get(hdrs.ACCEPT, ""))
        selected = read_filter(resource, wanted.namespace, request.query)
        page = list_page(self.storage, resource, selected, query=request.query)
        if representation == "full":
            return _raw(list_of(resource, page.items, page.metadata))
        return self._table(request, wanted, page.items, metadata=page.metadata)

    def _table(
        self, request: web.Request, wanted: ResourceRequest, items: list[Stored], *, metadata: JSON
    ) -> web.Response:
        now, include = self.storage.clock(), _include(request)
        return _raw(table_of(wanted.resource, items, now=now, include=include, metadata=metadata))

    def _write(self, request: web.Request, wanted: ResourceRequest, raw: bytes) -> web.Response:
        options = read_write_options(request.query, request.headers)
        patch_type, body = None, None
        if wanted.verb == "patch":
            patch_type, body = read_patch(raw, request.content_type)
        elif raw:
            body = read_object(raw, request.content_type)
        else:
            why = "unexpected end of JSON input (<empty>)"
            raise bad_request(f"the object provided is unrecognized: {why}")
        created = False
        if wanted.subresource == "scale":
            stored = change_scale(
                self.operations,
                wanted,
                lambda old: merge_patch(old, body) if patch_type else body,
                options=options,
            )
        elif wanted.verb == "create":
            stored, created = self.operations.create(wanted, body, options), True
        elif patch_type is None:
            self._authorize_creation(wanted)
            stored, created = self.operations.update(wanted, body, options)
        else:
            if patch_type == "apply":
                require_manager(request.query)
                self._authorize_creation(wanted)
            stored, created = self.operations.patch(wanted, patch_type, body, options=options)
        return self._object(request, wanted, stored, created=created)

    def _authorize_creation(self, wanted: ResourceRequest) -> None:
        """Require the right to create for a write to a free name; a rule may be limited to it."""
        if not wanted.subresource and self.operations.stored(wanted) is None:
            self.access.check(wanted, verb="create")

    def _delete(self, request: web.Request, wanted: ResourceRequest) -> web.Response:
        stored, gone = self.deletion.delete(wanted)
        if not gone:
            return self._object(request, wanted, stored)
        resource = wanted.resource
        details = {"name": wanted.name, "kind": resource.plural, "uid": stored.uid}
        if resource.group:
            details["group"] = resource.group
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return answered({**success, "details": details})

    def _delete_collection(self, request: web.Request, wanted: ResourceRequest) -> web.Response:
        selected = read_filter(wanted.resource, wanted.namespace, request.query)
        page = list_page(self.storage, wanted.resource, selected, query={})
        self.deletion.delete_each(wanted.resource, page.items)
        version = {"resourceVersion": str(self.storage.version)}
        return _raw(list_of(wanted.resource, page.items, version))

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
            return answered(scale_of(resource, obj), status)
        if negotiate(request.headers.get(hdrs.ACCEPT, "")) == "full":
            return _raw(whole(resource, stored), status)
        version = {"resourceVersion": str(stored.version)}
        answer = self._table(request, wanted, [stored], metadata=version)
        answer.set_status(status)
        return answer


def _include(request: web.Request) -> IncludeObject:
    return _INCLUDE.get(request.query.get("includeObject", ""), "Metadata")


def _raw(body: bytes, status: int = HTTPStatus.OK) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json")


def answered(document: JSON, status: int = HTTPStatus.OK) -> web.Response:
    return _raw(encode(document), status)
