"""A single look that reads no metrics goes by what a daemon tells of them."""

import pytest

from reporter.catalogue.runtime import ENGINE_STALLED, of_kind
from reporter.resolution import OneLook
from tests.unit.resolution.building import MODEL, Resolver, finding, snapshot
from tests.unit.resolution.test_records import events_of

STALLED, EPP = of_kind(ENGINE_STALLED, MODEL.kind), "inferencesetEPPNotReady"
MINUTES = 60


@pytest.mark.parametrize(
    ("reason", "at", "metrics", "subjects", "found"),
    [
        pytest.param(STALLED, 1, False, 3, {STALLED: "firing"}, id="a moment ago"),
        pytest.param(STALLED, 15 * MINUTES, False, 3, {STALLED: "firing"}, id="lately"),
        pytest.param(STALLED, 15 * MINUTES + 1, False, 3, {}, id="by a daemon that is gone"),
        pytest.param(STALLED, 1, True, 3, {}, id="to a look that reads them itself"),
        pytest.param(STALLED, 1, False, 2, {}, id="about a model that is gone"),
        pytest.param(EPP, 1, False, 3, {}, id="about what the look sees itself"),
    ],
)
def test_what_was_told(reason, at, metrics, subjects, found):
    """It goes on as it stands on record, and nobody can judge it now."""
    resolver = Resolver()
    resolver.subjects = resolver.subjects[:subjects]
    seen = snapshot(events=events_of(finding(reason, exempt=True)))
    assert resolver.look(at, seen=seen, one_look=OneLook(metrics=metrics)) == found
    assert all(each.stale for each in resolver.report.findings)
