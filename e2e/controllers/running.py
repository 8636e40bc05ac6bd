"""A controller beside an API server: its charts as they ship, and its process on loopback."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Final

import trustme
import yaml

from e2e.controllers.programs import Program
from e2e.envtest.commands import Access, EnvtestError, helm
from e2e.envtest.control_plane import Server, free_ports, wait_for, write_pair
from e2e.stack.api import Api, ApiError
from lab.sandbox.objects import Object, dig, name_of

START_SECONDS: Final = 120.0
"""How long a controller may take to be ready and its kinds to be served."""

_POLL_SECONDS: Final = 0.2

_NOT_SERVED: Final = frozenset({"Certificate", "Issuer", "ServiceMonitor"})
"""Kinds of parts that are not installed here: this module makes the certificates."""

_ASKED: Final = ("APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
"""Kinds that make the API server ask the process."""

_CRD: Final = "CustomResourceDefinition"


class Running:
    """A controller beside an API server.

    Args:
        program: the controller.
        api: the API server, seen by an admin.
        folder: for its files and its log.
        health: the port of its health or metrics, where that matters.
        host: the address at which the API server reaches it.
        beside: the port of another one that it calls.
        fit: a further change of each object of its charts before it is applied.
    """

    def __init__(
        self,
        program: Program,
        api: Api,
        folder: Path,
        *,
        health: int | None = None,
        host: str = "127.0.0.1",
        beside: int = 0,
        fit: Callable[[Object], Object] = lambda obj: obj,
    ) -> None:
        self.program = program
        self.api = api
        self.host = host
        self.beside = beside
        self._fit = fit
        self.folder = folder / program.name
        self.webhook, free = free_ports(2)
        self.health = health or free
        self._authority = trustme.CA()
        self._server: Server | None = None
        self._hooks: list[Object] = []

    @contextlib.asynccontextmanager
    async def started(self) -> AsyncIterator[None]:
        """Install its charts and run it; their objects stay, except the webhooks."""
        built = await asyncio.to_thread(self.program.built)
        self._write_files(self.api.access)
        objects = await asyncio.to_thread(lambda: list(self._objects()))
        hooks = [each for each in objects if each["kind"] in _ASKED]
        crds = [each for each in objects if each["kind"] == _CRD]
        await self._apply(crds)
        await self._served({name_of(each) for each in crds})
        await self._apply([each for each in objects if each["kind"] not in (*_ASKED, _CRD)])
        environment = {
            "KUBECONFIG": str(self.folder / "kubeconfig.yaml"),
            # The folder where controllers look for the certificate of their webhooks.
            "TMPDIR": str(self.folder),
            **self.program.environment,
        }
        variables = [f"{name}={value}" for name, value in environment.items()]
        command = ["env", *variables, str(built), *map(self._filled, self.program.arguments)]
        self._server = Server(self.program.name, command, self.folder / "log")
        try:
            await self.start()
            self._hooks += hooks
            await self._apply(hooks)
            yield
        finally:
            await self.unasked()
            self.stop()

    async def unasked(self) -> None:
        """Let the API server ask it no more: unanswered, nothing can be written or deleted."""
        for each in self._hooks:
            resource = await self.api.resource_of(each)
            await self.api.delete(resource.name, name_of(each))
        self._hooks.clear()

    async def start(self) -> None:
        assert self._server is not None
        self._server.start()
        url = f"http://127.0.0.1:{self.health}{self.program.ready}"
        await asyncio.to_thread(wait_for, url, self._server)

    def stop(self) -> None:
        assert self._server is not None
        self._server.stop()

    def _write_files(self, access: Access) -> None:
        certificates = self.folder / "k8s-webhook-server" / "serving-certs"
        certificates.mkdir(parents=True, exist_ok=True)
        write_pair(certificates, "tls", self._authority.issue_cert(self.host))
        self._authority.cert_pem.write_to_path(certificates / "ca.crt")
        access.write_kubeconfig(self.folder / "kubeconfig.yaml")
        for name, text in self.program.files.items():
            (self.folder / name).write_text(self._filled(text))

    def _filled(self, text: str) -> str:
        for name in ("webhook", "health", "folder", "host", "beside"):
            text = text.replace(f"{{{name}}}", str(getattr(self, name)))
        return text

    def _objects(self) -> Iterator[Object]:
        """Yield the objects of the charts, adapted."""
        source = self.program.source()
        namespace = self.program.namespace
        if namespace:
            yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        if self.program.crds:
            for file in sorted((source / self.program.crds).glob("*.yaml")):
                yield yaml.safe_load(file.read_text())
        yield from yaml.safe_load_all(self._filled(self.program.objects))
        for chart, values in self.program.charts.items():
            text = helm()(
                "template", self.program.name, str(source / chart), "--namespace", namespace,
                "--include-crds", "--values", "-", stdin=yaml.safe_dump(dict(values)),
            )  # fmt: skip
            for obj in yaml.safe_load_all(text):
                if obj and obj["kind"] not in _NOT_SERVED:
                    yield self._fitted(obj)

    def _fitted(self, obj: Object) -> Object:
        """Return an object whose webhooks point to the process."""
        configs = [each["clientConfig"] for each in obj.get("webhooks") or ()]
        conversion = dig(obj, "spec", "conversion", "webhook", "clientConfig")
        for config in [*configs, *([conversion] if conversion else [])]:
            service = config.pop("service")
            config["url"] = f"https://{self.host}:{self.webhook}{service['path']}"
            config["caBundle"] = base64.b64encode(self._authority.cert_pem.bytes()).decode()
        return self._fit(obj)

    async def _apply(self, objects: list[Object]) -> None:
        """Apply objects; retry those whose kind is served only a moment later."""
        async with asyncio.timeout(START_SECONDS):
            waiting = objects
            while waiting:
                refused: list[Object] = []
                for obj in waiting:
                    try:
                        await self.api.apply(obj)
                    except ApiError as error:
                        if error.code in {400, 403, 422}:
                            raise EnvtestError(f"{obj['kind']} {name_of(obj)}: {error}") from error
                        refused.append(obj)
                waiting = refused
                if waiting:
                    await asyncio.sleep(_POLL_SECONDS)
                    await self.api.resources(fresh=True)

    async def _served(self, names: set[str]) -> None:
        """Wait until kinds are served; the next objects may need them."""
        async with asyncio.timeout(START_SECONDS):
            while True:
                there = {each.name for each in await self.api.resources(fresh=True)}
                if names <= there:
                    return
                await asyncio.sleep(_POLL_SECONDS)
