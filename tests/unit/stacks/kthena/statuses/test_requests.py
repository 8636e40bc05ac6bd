"""Which writes of a status are planned, and how an API server answers them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from lab.sandbox import Sandbox
from lab.sandbox.access import Rule
from reporter.kube.client import connect
from reporter.kube.errors import Conflict, Forbidden, Invalid, NotFound
from reporter.stacks.kthena.objects import ModelServing
from reporter.stacks.kthena.output import write_status
from reporter.stacks.kthena.owning import Method, StatusWrite
from reporter.stacks.kthena.reasons import MODELSERVINGS
from tests.unit.stacks.kthena.statuses.building import PLURAL, definition, document, entry, roles
from tests.unit.stacks.kthena.statuses.building import write as written

NS = "serving"
Write = Callable[[StatusWrite], Awaitable[ModelServing]]


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


def made(sandbox: Sandbox):
    """A ModelServing `m`: its reference and version."""
    sandbox.create(definition())
    stored = sandbox.create(document("m", NS))
    ref = MODELSERVINGS.ref_named(NS, "m")
    return ref, stored["metadata"]["resourceVersion"]


def request(ref, method: Method, status, version: str) -> StatusWrite:
    return StatusWrite(MODELSERVINGS, ref, method, version, status, asked="")


@pytest.mark.parametrize("method", Method)
async def test_nothing_is_written_over_another_version(statuses, sandbox, method):
    """What was derived from an older state is not written."""
    ref, version = made(sandbox)
    sandbox.patch(PLURAL, "m", {"spec": {"replicas": 5}}, namespace=NS)
    with pytest.raises(Conflict):
        await statuses(request(ref, method, roles("Running"), version))
    assert "status" not in sandbox.get(PLURAL, "m", namespace=NS)


@pytest.mark.parametrize("method", Method)
async def test_refusals_are_told_apart(statuses, sandbox, method):
    """The writer has another answer to each of these."""
    ref, version = made(sandbox)
    with pytest.raises(Invalid):
        await statuses(request(ref, method, {"replicas": "many"}, version))
    gone = MODELSERVINGS.ref_named(NS, "gone")
    with pytest.raises(NotFound):
        await statuses(request(gone, method, roles("Running"), version))
    sandbox.access.deny(Rule(resources=("modelservings/status",)))
    with pytest.raises(Forbidden):
        await statuses(request(ref, method, roles("Running"), version))


CONDITION = {"type": "Available", "status": "True", "reason": "R", "message": "m"}
OLD = {**CONDITION, "type": "Progressing", "lastTransitionTime": "2026-11-20T11:00:00Z"}
WANTED = roles("Running", replicas=2, updatedReplicas=0, conditions=[CONDITION, OLD])


def test_whole_status_is_replaced():
    """With the time of conditions that changed; what is zero is left out, as the API does."""
    write = written(WANTED, whole=True, version="7")
    assert (write.method, write.version, write.object.uid) == (Method.REPLACE, "7", "uid-m")
    assert write.status == {
        "roleStatuses": [entry(0, "Running")],
        "replicas": 2,
        "conditions": [{**CONDITION, "lastTransitionTime": "2026-11-20T12:00:00Z"}, OLD],
    }


@pytest.mark.parametrize(
    ("wanted", "left_out", "applied"),
    [
        (WANTED, (), roles("Running")),
        (roles("Running", roleStatusesOmitted=3), (), roles("Running", roleStatusesOmitted=3)),
        (roles("Running", roleStatusesOmitted=3), ("roleStatusesOmitted",), roles("Running")),
        (roles("Running", roleStatusesOmitted=3), ("roleStatuses",), {}),
    ],
)
def test_roles_alone_are_applied(wanted, left_out, applied):
    """Nothing that the other controller owns, and nothing that the API server drops."""
    write = written(wanted, left_out=left_out)
    assert (write.method, write.status, write.left_out) == (Method.APPLY, applied, left_out)


@pytest.mark.parametrize(
    ("stored", "wanted", "status"),
    [
        (roles("Creating", "Running"), WANTED, roles("Running", roleStatusesOmitted=None)),
        (roles("Running", roleStatusesOmitted=3), WANTED, roles("Running", roleStatusesOmitted=None)),
        (roles("Running"), {}, {"roleStatuses": None, "roleStatusesOmitted": None}),
        (roles("Creating"), WANTED, None),
        (roles("Running", roleStatusesOmitted=3), roles("Running", roleStatusesOmitted=2), None),
    ],
)  # fmt: skip
def test_roles_that_must_go_are_released(stored, wanted, status):
    """Whoever else owns them loses them; an apply would leave them there."""
    write = written(wanted, stored)
    assert write.method == (Method.APPLY if status is None else Method.RELEASE)
    assert status is None or write.status == status
    assert write.asked == written(wanted).asked
