"""Each fault in its short form: nothing false, lost or doubled, and one writer at a time."""

import pytest

from e2e.chaos.bounds import SHORT
from e2e.chaos.cluster import foundation
from e2e.chaos.experiment import conduct
from e2e.chaos.faults import SHORT_FAULTS

pytestmark = pytest.mark.xdist_group("chaos")  # its control plane is started once


@pytest.fixture(name="base", scope="module")
def _base():
    """Servers of these tests' own: they are killed, and refuse what the chart grants."""
    with foundation() as base:
        yield base


@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", SHORT_FAULTS, ids=lambda fault: fault.name)
async def test_fault(fault, base):
    outcome = await conduct(fault, base, SHORT)
    assert outcome.problems == []
