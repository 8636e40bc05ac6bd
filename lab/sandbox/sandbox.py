"""The sandbox: an API server in this process, with the means to set it up and disturb it."""

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Self

import yaml
from aiohttp import web

from lab.sandbox.access import Access
from lab.sandbox.deletion import Deletion
from lab.sandbox.errors import UnknownPathError
from lab.sandbox.faults import Admin, Faults
from lab.sandbox.lists import list_page, read_filter
from lab.sandbox.loading import Loader
from lab.sandbox.objects import JSON, Object, copy_json, name_of, namespace_of
from lab.sandbox.operations import Operations
from lab.sandbox.patching import PatchType
from lab.sandbox.representation import as_object
from lab.sandbox.requests import RequestLog, ResourceRequest, WriteOptions
from lab.sandbox.resource_handlers import ResourceHandlers
from lab.sandbox.resources import Registry, Resource
from lab.sandbox.server import Server
from lab.sandbox.storage import Storage
from lab.sandbox.subresources import ContainerLogs

_HOST = "127.0.0.1"
_MAX_BODY = 3 * 1024 * 1024
_EXPIRY_CHECK_SECONDS = 1.0
_SHUTDOWN_SECONDS = 0.5
_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class Sandbox:
    """An embedded Kubernetes API server.

    It can be used without being started: the methods that read and write objects run the same code
    as requests. Call them in the thread of the serving event loop.

    Args:
        clock: returns epoch seconds; used for the expiry of Events and for the Date header.
        event_ttl_seconds: how long an Event lives after its last change.
        bookmark_seconds: the time between bookmarks on a watch, by the event loop's clock.
        token: the bearer token that requests must have; None for no check.
        history: how many changes of a kind are kept at least, for watches that start in the past.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.time,
        event_ttl_seconds: float = 3600.0,
        bookmark_seconds: float = 60.0,
        token: str | None = None,
        history: int = 10_000,
    ) -> None:
        self.storage = Storage(clock, history)
        self.registry = Registry()
        self.access = Access()
        self.faults = Faults(self.storage)
        self.request_log = RequestLog()
        self.container_logs = ContainerLogs()
        self.token = token
        self._operations = Operations(
            self.storage, self.registry, event_ttl_seconds=event_ttl_seconds
        )
        self._deletion = Deletion(self._operations)
        self._loader = Loader(self._operations)
        handlers = ResourceHandlers(
            operations=self._operations,
            deletion=self._deletion,
            access=self.access,
            logs=self.container_logs,
            bookmark_seconds=bookmark_seconds,
        )
        self._server = Server(
            handlers=handlers, faults=self.faults, request_log=self.request_log, token=token
        )
        self._admin = Admin(self.faults, self.access, self.request_log)
        self._runner: web.AppRunner | None = None
        self._expiry: asyncio.Task[None] | None = None
        self._url = ""
        for name in _NAMESPACES:
            self._loader.ensure_namespace(name)

    async def __aenter__(self) -> Self:
        if self._runner is None:
            await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self, port: int = 0, *, tls: ssl.SSLContext | None = None) -> None:
        """Start serving; port 0 takes any free port. kubectl sends its token only over TLS."""
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_route("*", "/_sandbox/{path:.+}", self._admin.handle)
        app.router.add_route("*", "/{path:.*}", self._server.handle)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=_SHUTDOWN_SECONDS
        )
        await self._runner.setup()
        listener = socket.create_server((_HOST, port))
        await web.SockSite(self._runner, listener, ssl_context=tls).start()
        self._url = f"http{'s' if tls else ''}://{_HOST}:{listener.getsockname()[1]}"
        self._expiry = asyncio.create_task(self._expire_regularly(), name="sandbox-event-expiry")

    async def stop(self) -> None:
        """Stop serving: open watches end cleanly, hanging requests are dropped."""
        if self._expiry is not None:
            self._expiry.cancel()
            await asyncio.gather(self._expiry, return_exceptions=True)
            self._expiry = None
        self.faults.clear()
        self.faults.end_watches()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _expire_regularly(self) -> None:
        # So that watchers see expired Events even without requests; requests expire them too.
        while True:
            await asyncio.sleep(_EXPIRY_CHECK_SECONDS)
            self.storage.expire()

    @property
    def url(self) -> str:
        if not self._url:
            raise RuntimeError("the sandbox has not been started")
        return self._url

    def kubeconfig(self) -> Object:
        name = "sandbox"
        cluster: Object = {"server": self.url}
        if self.url.startswith("https"):
            cluster["insecure-skip-tls-verify"] = True
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": {"token": self.token} if self.token else {}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }

    def write_kubeconfig(self, path: Path | str) -> None:
        Path(path).write_text(yaml.safe_dump(self.kubeconfig()), encoding="utf-8")

    def load(self, documents: Iterable[JSON]) -> list[Object]:
        """Store objects with their status, uid and creation time.

        Kinds become served, missing namespaces are created, and lists are expanded. Documents that
        cannot be stored, such as those that are not objects, are returned.
        """
        return self._loader.load(documents)

    def create(self, obj: Object) -> Object:
        """Create an object; ApiError as a request would be answered."""
        at = self._place_of(obj)
        return as_object(at.resource, self._operations.create(at, copy_json(obj)))

    def replace(self, obj: Object, *, subresource: str = "") -> Object:
        at = replace(self._place_of(obj), subresource=subresource)
        return as_object(at.resource, self._operations.update(at, copy_json(obj))[0])

    def patch(
        self,
        resource: str,
        name: str,
        patch: JSON,
        *,
        namespace: str = "",
        subresource: str = "",
        patch_type: PatchType = "merge",
        manager: str = "sandbox",
    ) -> Object:
        """Patch an object of a resource named `plural` or `plural.group`."""
        at = self._place(resource, name, namespace=namespace, subresource=subresource)
        options = WriteOptions(manager=manager)
        stored, _ = self._operations.patch(at, patch_type, copy_json(patch), options=options)
        return as_object(at.resource, stored)

    def patch_status(
        self,
        resource: str,
        name: str,
        status: Object,
        *,
        namespace: str = "",
        manager: str = "sandbox",
    ) -> None:
        """Merge-patch the status of an object."""
        patch = {"status": status}
        self.patch(
            resource, name, patch, namespace=namespace, subresource="status", manager=manager
        )

    def scale(self, resource: str, name: str, replicas: int, *, namespace: str = "") -> Object:
        at = self._place(resource, name, namespace=namespace)
        options = WriteOptions(manager="kubectl", through="scale")
        patch = {"spec": {"replicas": replicas}}
        stored, _ = self._operations.patch(at, "merge", patch, options=options)
        return as_object(at.resource, stored)

    def delete(self, resource: str, name: str, *, namespace: str = "") -> None:
        """Delete an object; with finalizers it stays until they are removed."""
        self._deletion.delete(self._place(resource, name, namespace=namespace))

    def get(self, resource: str, name: str, *, namespace: str = "") -> Object | None:
        at = self._place(resource, name, namespace=namespace)
        stored = self._operations.stored(at)
        return as_object(at.resource, stored) if stored is not None else None

    def list(self, resource: str, *, namespace: str = "", label_selector: str = "") -> list[Object]:
        """Return the objects of a resource, of one namespace or of all."""
        found = self.resource(resource)
        wanted = read_filter(found, namespace, {"labelSelector": label_selector})
        page = list_page(self.storage, found, wanted, query={})
        return [as_object(found, stored) for stored in page.items]

    def resource(self, name: str) -> Resource:
        """Return the resource named `plural` or `plural.group`; UnknownPathError if not served."""
        found = self.registry.by_name(name)
        if found is None:
            raise UnknownPathError(name)
        return found

    def _place(
        self, resource: str, name: str, *, namespace: str, subresource: str = ""
    ) -> ResourceRequest:
        return ResourceRequest(
            resource=self.resource(resource),
            namespace=namespace,
            name=name,
            subresource=subresource,
        )

    def _place_of(self, obj: Object) -> ResourceRequest:
        found = self.registry.by_kind(str(obj.get("apiVersion")), str(obj.get("kind")))
        if found is None:
            raise UnknownPathError(f"{obj.get('kind')} of {obj.get('apiVersion')}")
        return ResourceRequest(resource=found, namespace=namespace_of(obj), name=name_of(obj))
