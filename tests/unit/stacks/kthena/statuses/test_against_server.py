"""The status of one ModelServing, its other writers and its CRD, on an API server.

It is the sandbox; or, to compare the two, the real one that KUBECONFIG reaches if
STATUS_REPORTER_API_URL is set.
"""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lab.sandbox import Sandbox
from reporter.kube.client import JSON, MERGE_PATCH, KubeClient, api_path, connect, encode
from reporter.kube.errors import NotFound
from reporter.model.finding import Derived
from reporter.snapshot.decode import decode_object
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena.objects import ModelServing
from reporter.stacks.kthena.output import write_status
from reporter.stacks.kthena.owning import Claim, Ownership, judge
from reporter.stacks.kthena.reasons import MODELSERVINGS
from tests.unit.probes.building import at as moment
from tests.unit.stacks.kthena.statuses.building import (
    PLURAL,
    TellingWriter,
    definition,
    document,
    entry,
    roles,
)

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONDITION = {"type": "Available", "status": "True", "reason": "AllGroupsReady", "message": "m"}
BOTH = ("roleStatuses", "roleStatusesOmitted")
NAME = "m"


class Owner:
    """Passes over one ModelServing: all parts that own a status, wired as a daemon wires them, on time that a test chooses."""

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
        self.writer = TellingWriter(partial(write_status, client), self._note)

    def _note(self, outcome: str) -> None:
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
            now=moment(second),
            whole=self.whole,
            resync=timedelta(seconds=60),
        )
        found_of = self.memory.findings(claim.derived.object, Snapshot(), whole=self.whole)
        self.troubles = [each.message for each in found_of]
        before = len(self.outcomes)
        self.writer.offer({uid: verdict.write})
        async with asyncio.timeout(20):
            while len(self.outcomes) == before and verdict.write:
                await self._told.wait()
                self._told.clear()
        return self.outcomes[before:]


@pytest.fixture
def owner(tmp_path: Path):
    """Open an owner of ModelServing `m` under a CRD: `async with owner(whole=True) as at`."""

    @asynccontextmanager
    async def open_owner(*, whole: bool, without: tuple[str, ...] = ()) -> AsyncIterator[Owner]:
        async with AsyncExitStack() as stack:
            kubeconfig = None
            if not os.environ.get("STATUS_REPORTER_API_URL"):
                kubeconfig = tmp_path / "config"
                sandbox = await stack.enter_async_context(Sandbox())
                sandbox.write_kubeconfig(kubeconfig)
            client = await stack.enter_async_context(await connect(kubeconfig=kubeconfig))
            namespace = f"serving-{uuid.uuid4().hex[:8]}"
            at = Owner(client, namespace, whole=whole)
            await at.send("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
            await at.send("POST", CRDS, definition(without))
            try:
                await _eventually_made(at)
                task = asyncio.create_task(at.writer.run())
                yield at
                task.cancel()
            finally:
                await _delete_definition(at)

    return open_owner


async def _eventually_made(at: Owner) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                await at.make()
            except NotFound:
                await asyncio.sleep(0.05)
            else:
                return


async def _delete_definition(at: Owner) -> None:
    await at.send("DELETE", f"{CRDS}/{PLURAL}")
    async with asyncio.timeout(20):
        while True:
            try:
                await at.send("GET", f"{CRDS}/{PLURAL}")
            except NotFound:
                return
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("whole", [True, False])
async def test_status_is_written_on_change_only(owner, whole):
    """Whatever else is wanted in between comes in the order in which it is wanted."""
    async with owner(whole=whole) as at:
        steps = [
            roles("Creating"),
            roles("Creating", "Running"),
            {"roleStatuses": [entry(1, "Running"), entry(0, "Running"), entry(2, "Creating")]},
            {"roleStatuses": [entry(2, "Running")], "roleStatusesOmitted": 7},
            {},
            roles("NotFound"),
        ]
        for number, wanted in enumerate(steps):
            assert await at.pass_(number, wanted) == ["written"]
            assert await at.status() == wanted
            assert await at.pass_(number, wanted) == []
        assert not at.troubles


async def test_whole_status_has_conditions_with_times(owner):
    """And fields that nobody wants are gone."""
    async with owner(whole=True) as at:
        await at.patch({"replicas": 5})
        await at.pass_(0, roles("Running", conditions=[CONDITION]))
        stamped = {**CONDITION, "lastTransitionTime": "2026-11-20T12:00:00Z"}
        assert await at.status() == roles("Running", conditions=[stamped])
        assert await at.pass_(1, roles("Running", conditions=[CONDITION])) == []


@pytest.mark.parametrize("whole", [True, False])
async def test_controller_that_replaces_the_whole_status_is_not_fought(owner, whole):
    """It has another value for our field; we write twice, stand back, and say whom we met."""
    async with owner(whole=whole) as at:
        wanted = roles("Running", replicas=1)
        for second in range(60):
            if await at.pass_(second, wanted):
                await at.replace(roles("Creating", replicas=1))
        assert at.outcomes == ["written"] * 2
        (trouble,) = at.troubles
        assert '(field manager "kthena" writes it too)' in trouble
        assert await at.pass_(62, wanted) == ["written"]
        assert await at.pass_(63, wanted) == []
        assert await at.pass_(123, wanted) == []
        assert not at.troubles


async def test_controller_that_does_not_know_the_roles_is_no_opponent(owner):
    """Its writes take our field away; it is there again at once, and nothing is told."""
    async with owner(whole=False) as at:
        wanted = roles("Running", replicas=1)
        for second in range(0, 100, 8):
            assert await at.pass_(second, wanted) == ["written"]
            assert await at.pass_(second, wanted) == []
            await at.replace({"replicas": 1})
        assert not at.troubles


@pytest.mark.parametrize(
    "left",
    [
        roles("Creating", "Creating"),
        roles("Running", "Running"),
        roles("Running", roleStatusesOmitted=3),
    ],
)
async def test_entries_that_somebody_else_writes_too_can_go(owner, left):
    """Such as we did ourselves before the setting was changed from full to roles."""
    async with owner(whole=False) as at:
        await at.pass_(0, roles("Running", "Running"))
        await at.replace({**left, "replicas": 1})
        for second, wanted in enumerate([roles("Running"), {}]):
            assert await at.pass_(second, wanted) == ["written"]
            assert await at.status() == {**wanted, "replicas": 1}
            assert await at.pass_(second, wanted) == []
        assert not at.troubles


@pytest.mark.parametrize("without", [BOTH, BOTH[:1]])
@pytest.mark.parametrize("whole", [True, False])
async def test_definition_without_the_roles(owner, whole, without):
    """Noticed and told, not looped on, and in full mode the rest is written all the same."""
    async with owner(whole=whole, without=without) as at:
        wanted = roles("Running", replicas=1)
        assert await at.pass_(0, wanted) == ["pruned"]
        for second in range(1, 60):
            assert await at.pass_(second, wanted) == []
        (trouble,) = at.troubles
        assert "lacks status.roleStatuses;" in trouble
        assert await at.status() == ({"replicas": 1} if whole else {})
        assert await at.pass_(62, wanted) == ["pruned"]


@pytest.mark.parametrize("whole", [True, False])
async def test_definition_with_the_roles_but_not_their_number(owner, whole):
    """What it has is written."""
    async with owner(whole=whole, without=BOTH[1:]) as at:
        wanted = roles("Running", roleStatusesOmitted=2)
        await at.pass_(0, wanted)
        await at.pass_(1, wanted)
        assert await at.pass_(2, wanted) == []
        assert await at.status() == roles("Running")
        (trouble,) = at.troubles
        assert "lacks status.roleStatusesOmitted;" in trouble


async def test_change_of_the_spec_is_no_change_of_ours(owner):
    """Another version alone is no reason to write, nor a fight."""
    async with owner(whole=True) as at:
        wanted = roles("Running")
        await at.pass_(0, wanted)
        for second in range(1, 5):
            document = await at.document()
            document["spec"]["replicas"] = second
            path = f"{at._path}/m"
            await at.send("PUT", path, document)
            assert await at.pass_(second, wanted) == []
        assert not at.troubles
