"""Writes of a ModelServing's status, against the API server's rules."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from lab.sandbox import Sandbox
from lab.sandbox.access import Rule
from reporter.kube.client import connect
from reporter.kube.errors import Conflict, Forbidden, Invalid, NotFound
from reporter.kube.writes import FIELD_MANAGER
from reporter.stacks.kthena.output import FieldsUndeclaredError, StoredStatus, write_status
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


async def test_whole_status_is_replaced_and_nothing_else(statuses, sandbox):
    """Name, version and status are enough; spec and labels stay as they are."""
    ref, version, _ = made(sandbox)
    before = sandbox.get(PLURAL, "m", namespace=NS)
    status = roles("Running", replicas=1)
    answer = await statuses(request(ref, Method.REPLACE, status, version))
    after = sandbox.get(PLURAL, "m", namespace=NS)
    assert after["status"] == status
    assert after["spec"] == before["spec"]
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert answer.object.metadata.resource_version == after["metadata"]["resourceVersion"]
    assert answer.fields == {"replicas", "roleStatuses"}


async def test_roles_are_applied_beside_what_others_own(statuses, sandbox):
    """With force and under our own name; who else writes the status is told."""
    ref, _, _ = made(sandbox)
    status = {"status": {"replicas": 3, **roles("Creating")}}
    patched = sandbox.patch(PLURAL, "m", status, namespace=NS, subresource="status")
    version = patched["metadata"]["resourceVersion"]
    answer = await statuses(request(ref, Method.APPLY, roles("Running"), version))
    after = sandbox.get(PLURAL, "m", namespace=NS)
    assert after["status"] == {"replicas": 3, **roles("Running")}
    managers = {each["manager"] for each in after["metadata"]["managedFields"]}
    assert FIELD_MANAGER in managers
    (theirs,) = managers - {FIELD_MANAGER}
    assert answer.object.status_manager_beside(FIELD_MANAGER) == theirs


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


async def test_fields_that_the_definition_lacks_are_named(statuses, sandbox):
    """An apply stores nothing then, a PUT stores the rest."""
    ref, version, _ = made(sandbox, without=("roleStatuses", "roleStatusesOmitted"))
    with pytest.raises(FieldsUndeclaredError) as caught:
        await statuses(request(ref, Method.APPLY, roles("Running"), version))
    assert caught.value.fields == {"roleStatuses"}
    answer = await statuses(request(ref, Method.REPLACE, roles("Running", replicas=1), version))
    assert answer.fields == {"replicas"}


async def test_roles_are_released_whoever_owns_them(statuses, sandbox):
    """What is left then is not ours, and stays."""
    ref, version, _ = made(sandbox)
    status = roles("Running", replicas=1)
    answer = await statuses(request(ref, Method.REPLACE, status, version))
    version = answer.object.metadata.resource_version
    answer = await statuses(request(ref, Method.RELEASE, {"roleStatuses": None}, version))
    assert answer.fields == {"replicas"}
    assert answer.object.status.role_statuses is None
