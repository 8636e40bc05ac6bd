"""A real Alertmanager for tests, and who receives what it notifies of."""

import asyncio
import json
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web

from tests.daemon.replica import free_port, until

QUICK = {"group_wait": "0s", "group_interval": "1s", "repeat_interval": "1h"}


class Alertmanager:
    """The program, under a port that outlives it."""

    def __init__(self, program: Path, folder: Path, **config: Any) -> None:
        self.port, self._receiver_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.notified: list[dict[str, Any]] = []
        self.payloads: list[bytes] = []
        self._program, self._folder = program, folder
        folder.mkdir()
        webhook = {"url": f"http://127.0.0.1:{self._receiver_port}/", "send_resolved": True}
        receiver = {"name": "recorder", "webhook_configs": [webhook]}
        route = {"receiver": "recorder", "group_by": ["alertname", "subject"], **QUICK}
        config = {"route": route, "receivers": [receiver], **config}
        (folder / "config.yml").write_text(yaml.safe_dump(config))
        self._server: web.AppRunner | None = None

    async def start(self) -> None:
        """Start, with what it remembers from before."""
        if self._server is None:
            app = web.Application()
            app.router.add_post("/", self._receive)
            self._server = web.AppRunner(app)
            await self._server.setup()
            await web.TCPSite(self._server, "127.0.0.1", self._receiver_port).start()
        with (self._folder / "log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                self._program,
                f"--config.file={self._folder}/config.yml",
                f"--storage.path={self._folder}/data",
                f"--web.listen-address=127.0.0.1:{self.port}",
                "--cluster.listen-address=",
                stdout=log,
                stderr=log,
            )
        await until(self.alerts_or_none, "Alertmanager is up")

    async def stop(self) -> None:
        """Stop the program; the receiver stays."""
        if self.process.returncode is None:
            self.process.terminate()
            await self.process.wait()

    async def close(self) -> None:
        """Stop for good."""
        await self.stop()
        if self._server is not None:
            await self._server.cleanup()

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        """Return the answer to a request."""
        url = f"{self.url}/api/v2/{path}"
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, url, **options) as answer,
        ):
            text = await answer.text()
            assert answer.status == 200, text
            return json.loads(text or "null")

    async def alerts(self, reason: str = "") -> list[dict[str, Any]]:
        """Return the alerts that fire, of a reason or all."""
        alerts = await self.ask("GET", "alerts")
        return [each for each in alerts if reason in ("", each["labels"]["alertname"])]

    async def alerts_or_none(self) -> bool:
        return isinstance(await self.alerts(), list)

    def told(self, reason: str, status: str) -> list[dict[str, Any]]:
        """Return of what it notified: alerts of a reason that fire or are resolved."""
        return [
            each
            for each in self.notified
            if each["labels"]["alertname"] == reason and each["status"] == status
        ]

    async def _receive(self, request: web.Request) -> web.Response:
        self.payloads.append(await request.read())
        self.notified += json.loads(self.payloads[-1])["alerts"]
        return web.Response()
