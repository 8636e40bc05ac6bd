"""Writes of a ModelServing's status, against the API server's rules."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from lab.sandbox import Sandbox
from lab.sandbox.access import Rule
from reporter.kube.client import connect
from reporter.kube.errors import Conflict, Forbidden, Invalid, NotFound
from reporter.stacks.kthena.output import StoredStatus, write_status
from reporter.stacks.kthena.owning import Method, StatusWrite
from reporter.stacks.kthena.reasons import MODELSERVINGS
from tests.unit.stacks.kthena.statuses.building import roles
from tests.unit.stacks.kthena.statuses.definition import PLURAL, definition, modelserving

NS = "serving"
Write = Callable[[StatusWrite], Awaitable[StoredStatus]]


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox() as server:
        server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})
        yield server


@pytest.fixture
async def statuses(sandbox: Sandbox, tmp_path: Path) -> AsyncIterator[Write]:
    sandbox.write_kubeconfig(tmp_path / "config")
    async with await connect(kubeconfig=tmp_path / "config") as client:
        yield partial(write_status, client)


def made(sandbox: Sandbox, **crd):
    """A ModelServing `m`: its reference and version."""
    sandbox.create(definition(**crd))
    stored = sandbox.create(modelserving("m", NS))
    ref = MODELSERVINGS.ref_named(NS, "m")
    return ref, stored["metadata"]["resourceVersion"], stored["metadata"]["uid"]


def request(ref, method: Method, status, version: str) -> StatusWrite:
    return StatusWrite(MODELSERVINGS, ref, method, version, status, asked="")


@pytest.mark.parametrize("method", Method)
async def test_nothing_is_written_over_another_version(statuses, sandbox, method):
    """What was derived from an older state is not written."""
    ref, version, _ = made(sandbox)
    sandbox.patch(PLURAL, "m", {"spec": {"replicas": 5}}, namespace=NS)
    with pytest.raises(Conflict):
        await statuses(request(ref, method, roles("Running"), version))
    assert "status" not in sandbox.get(PLURAL, "m", namespace=NS)


@pytest.mark.parametrize("method", Method)
async def test_refusals_are_told_apart(statuses, sandbox, method):
    """The writer has another answer to each of these."""
    ref, version, _ = made(sandbox)
    with pytest.raises(Invalid):
        await statuses(request(ref, method, {"replicas": "many"}, version))
    gone = MODELSERVINGS.ref_named(NS, "gone")
    with pytest.raises(NotFound):
        await statuses(request(gone, method, roles("Running"), version))
    sandbox.access.deny(Rule(resources=("modelservings/status",)))
    with pytest.raises(Forbidden):
        await statuses(request(ref, method, roles("Running"), version))
