"""Which writes of a status are planned, how an API server answers them, and what is told of one that is not ours."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from lab.sandbox import Sandbox
from lab.sandbox.access import Rule
from reporter.kube.client import connect
from reporter.kube.errors import Conflict, Forbidden, Invalid, NotFound
from reporter.model.text import MESSAGE_BYTES
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena.output import StoredStatus, release_of, write_status
from reporter.stacks.kthena.owning import (
    Method,
    StatusWrite,
    Trouble,
    TroubleKind,
    ownership_finding,
)
from reporter.stacks.kthena.reasons import MODELSERVINGS
from tests.unit.probes.building import NOW
from tests.unit.stacks.kthena.statuses.building import PLURAL, definition, document, entry, roles
from tests.unit.stacks.kthena.statuses.building import write as written

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
        # An apply that says nothing at all is refused where nothing else is left of the status.
        ({"replicas": 2}, (), {"roleStatuses": []}),
        (roles("Running", roleStatusesOmitted=3), ("roleStatusesOmitted",), roles("Running")),
        (roles("Running", roleStatusesOmitted=3), ("roleStatuses",), {}),
    ],
)
def test_roles_alone_are_applied(wanted, left_out, applied):
    """Nothing that the other controller owns, and nothing that the API server drops."""
    write = written(wanted, left_out=left_out)
    assert (write.method, write.status, write.left_out) == (Method.APPLY, applied, left_out)


def test_release_leaves_what_is_wanted():
    """Whoever owns other roles loses them, over the same version."""
    write = written(WANTED)
    release = release_of(write)
    assert (release.version, release.object) == (write.version, write.object)
    assert release.status == {**write.status, "roleStatusesOmitted": None}
    assert release.asked == write.asked


REF = MODELSERVINGS.ref_named("serving", "m")


def finding(kind: TroubleKind, fields=("status.roleStatuses",), manager: str = ""):
    return ownership_finding(REF, Trouble(kind, NOW, fields, manager), Snapshot())


@pytest.mark.parametrize(
    ("kind", "manager", "words"),
    [
        (TroubleKind.CONTESTED, "kthena", ['field manager "kthena"', "status.roleStatuses"]),
        (TroubleKind.CONTESTED, "", ["somebody else keeps changing status.roleStatuses"]),
        (TroubleKind.PRUNED, "", ["CustomResourceDefinition lacks status.roleStatuses"]),
    ],
)
def test_message_says_what_keeps_us_from_writing(kind, manager, words):
    """And which ModelServing it is about."""
    found = finding(kind, manager=manager)
    assert found.message.startswith("ModelServing serving/m: ")
    for word in words:
        assert word in found.message
    assert found.exempt
    assert (found.transition, str(found.subject)) == (NOW, "modelserving/serving/m")


def test_message_fits_and_is_clean():
    """The name of a manager is somebody else's text."""
    fields = tuple(f"status.{'f' * 60}{index}" for index in range(30))
    found = finding(TroubleKind.CONTESTED, fields, "evil\n" + "m" * 4000)
    assert len(found.message.encode()) <= MESSAGE_BYTES
    assert "\n" not in found.message
