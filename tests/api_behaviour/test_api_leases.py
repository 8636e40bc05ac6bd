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
