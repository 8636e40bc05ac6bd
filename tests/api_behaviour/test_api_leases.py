"""Leases (rows of 2.1)."""

import pytest

from tests.api_behaviour.api_client import LEASES, MICRO, Api, lease


@pytest.fixture(name="path")
def _path(namespace: str) -> str:
    return LEASES.format(namespace)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"leaseDurationSeconds": 0}, "spec.leaseDurationSeconds"),
        ({"leaseDurationSeconds": -1}, "spec.leaseDurationSeconds"),
        ({"leaseDurationSeconds": 1}, None),
        ({"leaseTransitions": -1}, "spec.leaseTransitions"),
        ({"leaseTransitions": 0}, None),
        ({"holderIdentity": ""}, None),
    ],
    ids=str,
)
async def test_validation(api: Api, path: str, spec, *, field: str | None):
    """Durations are positive, transitions are not negative, holders may be empty or missing."""
    answer = await api.post(path, lease("l", **spec))
    assert (422 if field else 201) == answer.status, answer.text
    if field:
        assert field in {cause["field"] for cause in answer.json["details"]["causes"]}


@pytest.mark.parametrize(
    ("time", "code"),
    [
        (MICRO, 201),
        ("2026-11-20T10:00:00.000001+01:00", 201),
        (None, 201),
        ("2026-11-20T10:00:00Z", 400),
        ("2026-11-20T10:00:00.123Z", 400),
        ("2026-11-20T10:00:00.123456", 400),
    ],
)
async def test_times(api: Api, path: str, time: str | None, *, code: int):
    """The times of a lease have exactly six digits and a zone."""
    for field in ("renewTime", "acquireTime"):
        answer = await api.post(path, lease(f"l-{field.lower()}", **{field: time}))
        assert code == answer.status, answer.text


@pytest.mark.parametrize(
    "spec", [{"leaseDurationSeconds": "15"}, {"leaseDurationSeconds": 3.5}], ids=str
)
async def test_whole_numbers(api: Api, path: str, spec):
    """Durations are whole numbers."""
    assert (await api.post(path, lease("l", **spec))).status == 400


async def test_put_needs_a_version(api: Api, path: str):
    """A PUT without version is a 422, with a stale one a 409, with the right one it is written."""
    made = await api.made(path, lease("l"))
    answer = await api.put(f"{path}/l", lease("l", holderIdentity="b"))
    assert (answer.status, answer.reason) == (422, "Invalid")
    assert "must be specified for an update" in answer.json["message"]
    made["spec"]["holderIdentity"] = "b"
    assert (await api.put(f"{path}/l", made)).status == 200
    made["spec"]["holderIdentity"] = "c"
    stale = await api.put(f"{path}/l", made)
    assert (stale.status, stale.reason) == (409, "Conflict")
    assert stale.json["message"] == (
        'Operation cannot be fulfilled on leases.coordination.k8s.io "l": the object has been '
        "modified; please apply your changes to the latest version and try again"
    )


async def test_put_creates(api: Api, path: str):
    """A PUT to a free name makes the lease."""
    answer = await api.put(f"{path}/l", lease("l"))
    assert (answer.status, answer.json["spec"]["holderIdentity"]) == (201, "a")


async def test_patch_compares_and_swaps(api: Api, path: str):
    """A patch needs no version; one in its body makes it conditional."""
    made = await api.made(path, lease("l"))
    assert (await api.patch(f"{path}/l", {"spec": {"holderIdentity": "b"}})).status == 200
    guarded = {
        "metadata": {"resourceVersion": made["metadata"]["resourceVersion"]},
        "spec": {"holderIdentity": "c"},
    }
    assert (await api.patch(f"{path}/l", guarded)).status == 409


async def test_nothing_is_enforced(api: Api, path: str):
    """Anybody may overwrite a live lease."""
    made = await api.made(path, lease("l", renewTime=MICRO))
    made["spec"] = {"holderIdentity": "thief", "leaseDurationSeconds": 1}
    answer = await api.put(f"{path}/l", made)
    assert answer.json["spec"] == {"holderIdentity": "thief", "leaseDurationSeconds": 1}
