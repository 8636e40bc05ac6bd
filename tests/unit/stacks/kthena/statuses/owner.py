"""All parts that own a status, wired as a daemon wires them, on time that a test chooses."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from reporter.kube.client import JSON, MERGE_PATCH, KubeClient, api_path, encode
from reporter.model.finding import Derived
from reporter.snapshot.decode import decode_object
from reporter.stacks.kthena.objects import ModelServing
from reporter.stacks.kthena.output import StatusWriter, write_status
from reporter.stacks.kthena.owning import Act, Claim, Method, Ownership, StatusPlan, judge
from reporter.stacks.kthena.reasons import MODELSERVINGS
from tests.unit.probes.building import at
from tests.unit.stacks.kthena.statuses.building import document

NAME = "m"


class Owner:
    """Passes over one ModelServing; what its status should be is given to each."""

    def __init__(self, client: KubeClient, namespace: str, *, whole: bool) -> None:
        self.client = client
        self.namespace = namespace
        self.whole = whole
        self.memory: Ownership | None = None
        self.troubles: Any = {}
        self.outcomes: list[str] = []
        self._told = asyncio.Event()
        self._path = api_path(
            MODELSERVINGS.group, "v1alpha1", "namespaces", namespace, MODELSERVINGS.plural
        )
        self.writer = StatusWriter(
            partial(write_status, client),
            lambda: True,
            self._note,
            changed=lambda: None,
            outdated=lambda resource: None,
        )

    def _note(self, _method: Method, outcome: str) -> None:
        self.outcomes.append(outcome)
        self._told.set()

    async def send(self, method: str, path: str, body: object = None, kind: str = JSON) -> Any:
        """Send a request as somebody else and return the answer."""
        answer = await self.client.request(
            method,
            path,
            verb="test",
            resource="test",
            params={"fieldManager": "kthena"} if method != "GET" else None,
            body=None if body is None else encode(body),
            content_type=kind,
        )
        return answer.decode(dict)

    async def make(self) -> None:
        await self.send("POST", self._path, document(NAME, self.namespace))

    async def document(self) -> Any:
        return await self.send("GET", f"{self._path}/{NAME}")

    async def status(self) -> Any:
        return (await self.document()).get("status", {})

    async def patch(self, status: object) -> None:
        """Somebody else patches the status."""
        await self.send("PATCH", f"{self._path}/{NAME}/status", {"status": status}, MERGE_PATCH)

    async def replace(self, status: object) -> None:
        """Somebody else replaces the whole status, as a typed client does."""
        document = await self.document()
        await self.send("PUT", f"{self._path}/{NAME}/status", {**document, "status": status})

    async def pass_(self, second: float, wanted: Mapping[str, object]) -> list[str]:
        """Judge, plan and write; return what became of the writes."""
        answer = await self.client.request(
            "GET", f"{self._path}/{NAME}", verb="get", resource="modelservings"
        )
        found = decode_object(MODELSERVINGS, answer.body)
        assert isinstance(found, ModelServing)
        claim = Claim(MODELSERVINGS, found, Derived(MODELSERVINGS.ref(found), wanted))
        uid = found.metadata.uid
        self.memory, verdict = judge(
            self.memory,
            claim,
            self.writer.answers().get(uid),
            now=at(second),
            whole=self.whole,
            resync=timedelta(seconds=60),
        )
        self.troubles = self.memory.troubles(whole=self.whole)
        writes = []
        if verdict.act is Act.WRITE:
            writes.append(claim.write(verdict.left_out, at(second).wall, whole=self.whole))
        plan = StatusPlan(tuple(writes), frozenset({uid}))
        before = len(self.outcomes)
        self.writer.offer(plan)
        async with asyncio.timeout(20):
            while (len(self.outcomes) == before and plan.writes) or self.outcomes[-1:] == [
                "refused"
            ]:
                await self._told.wait()
                self._told.clear()
        return self.outcomes[before:]
