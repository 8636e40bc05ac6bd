"""What a pass is given of the process that led before."""

import pytest

from reporter.snapshot.table import Table
from tests.unit.daemon.test_self_check import Daemon


@pytest.mark.parametrize(
    ("leads", "asks"),
    [
        ([True, True], [True, False]),
        ([False, True, True], [True, True, False]),
    ],
    ids=["from the start", "after a pass before the Lease was read"],
)
async def test_who_begins_to_lead_asks_for_what_was_handed_on(leads, asks):
    """The elector may read the Lease only after the first pass; who leads already knows better."""
    now_leading = iter(leads)
    asked = []

    def handed(_now):
        asked.append(True)
        return {}

    async with Daemon(Table, leading=lambda: next(now_leading, True), handed=handed) as daemon:
        found = []
        for _ in leads:
            asked.clear()
            daemon.due.set()
            await daemon.report()
            found.append(bool(asked))
    assert found == asks
