"""Leases (rows of 2.1)."""

import pytest

from tests.api_behaviour.api_client import LEASES, Api, lease


@pytest.fixture(name="path")
def _path(namespace: str) -> str:
    return LEASES.format(namespace)


@pytest.mark.parametrize(
    "spec", [{"leaseDurationSeconds": "15"}, {"leaseDurationSeconds": 3.5}], ids=str
)
async def test_whole_numbers(api: Api, path: str, spec):
    """Durations are whole numbers."""
    assert (await api.post(path, lease("l", **spec))).status == 400
