"""What one look tells of a component, and which traffic KServe asks Knative for."""

import pytest

from reporter.stacks.kserve.derived.revisions import (
    Conclusion,
    asked_traffic,
    latest_entry,
    read_component,
)
from tests.unit.stacks.kserve.derived.building import component, traffic

C = Conclusion

PATTERNS = [
    # lr pr, C R, traffic, canary percent, conclusions
    ("v2, v1", "v2, v2", "v2:100 L", None, set()),
    ("v1, 0", "v1, v1", "v1:100 L", None, {C.NO_FALLBACK}),
    ("v1, 0", "v2, v2", "v2:20 L, v1:80 -", 20, {C.CANARY, C.NO_FALLBACK}),
    ("v1, v1", "v2, v2", "v2:20 L, v1:80 -", 20, {C.CANARY}),
    ("v1, v1", "v2, v2", "v2:0 L, v1:100 -", 0, {C.ROLLED_BACK}),
    ("v2, v1", "v3, v3", "v3:0 L, v2:100 -", 0, set()),
    ("v2, v1", "v3, v2", "v2:100 L", None, {C.NEWEST_NOT_READY}),
    ("v1, v1", "v3, v2", "v2:0 L, v1:100 -", 0, {C.NEWEST_NOT_READY, C.ROLLED_BACK}),
    ("v1, v0", "v3, v2", "v2:20 L, v1:80 -", 20, {C.NEWEST_NOT_READY, C.CANARY}),
    ("v1, v0", "v3, v2", "v2:0 L, v1:100 -", 0, {C.NEWEST_NOT_READY}),
    ("0, 0", "v1, 0", "", None, {C.NEWEST_NOT_READY}),
    ("v1, v0", "v2, v2", "v1:100 L", None, {C.ROLLOUT_NOT_FINISHED}),
    ("v1, v0", "v2, v2", "v1:100 L", 10, set()),
    ("v1, v0", "v2, v2", "v2:20 L, v1:80 -", None, {C.ROLLOUT_NOT_FINISHED, C.CANARY}),
    ("v2, v1", "v2, v2", "v2:0 L, v2:100 -", 0, {C.SPLIT_OVER_ONE}),
    ("v2, v1", "v3, v2", "v2:0 L, v2:100 -", 0, {C.SPLIT_OVER_ONE, C.NEWEST_NOT_READY}),
    ("v1, 0", "v1, v1", "v1:0 L, v1:100 -", 0, {C.SPLIT_OVER_ONE, C.NO_FALLBACK}),
    ("0, 0", "0, 0", "", None, set()),
    ("v1, v0", "v2, v2", "v2:~ L", 10, set()),
]


@pytest.mark.parametrize(("history", "revisions", "entries", "percent", "expected"), PATTERNS)
def test_pattern(history, revisions, entries, percent, expected):
    """Each pattern has its conclusions; several may hold at once."""
    status = component(history, revisions, entries)
    assert read_component(status, percent) == expected


def test_each_conclusion_has_a_pattern():
    """No conclusion is left out above."""
    assert set().union(*(each[4] for each in PATTERNS)) == set(Conclusion)


def test_the_latest_entry_of_a_gradual_rollout_is_the_one_that_names_the_ready_revision():
    """Two entries are flagged; the older revision is on its way out."""
    entry = latest_entry(component("v1, 0", "v2, v2", "v1:60 L, v2:40 L"))
    assert (entry.revision_name, entry.percent) == ("v2", 40)


ASKED = [
    # percent, lr, spec.traffic, tags
    (None, "", ":100 L", [""]),
    (None, "v1", ":100 L", [""]),
    (20, "v1", ":20 L, v1:80 -", ["", "prev"]),
    (0, "v1", ":0 L, v1:100 -", ["", "prev"]),
    (99, "v1", ":99 L, v1:1 -", ["", "prev"]),
    (100, "v1", ":100 L", [""]),
    (20, "", ":100 L", [""]),
]


@pytest.mark.parametrize(("percent", "rolled_out", "entries", "tags"), ASKED)
def test_traffic_that_kserve_asks_for(percent, rolled_out, entries, *, tags):
    """A canary percent is ignored until something was rolled out."""
    found = asked_traffic(percent, rolled_out)
    plain = [(each.revision_name, each.percent, each.latest_revision) for each in found]
    assert plain == [
        (each.revision_name, each.percent, each.latest_revision) for each in traffic(entries)
    ]
    assert [each.tag for each in found] == tags
