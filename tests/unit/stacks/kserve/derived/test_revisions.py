"""Which revisions are rolled out: each row of the truth table, and examples from rollouts."""

from itertools import product

import pytest

from reporter.stacks.kserve.derived.conditions import ConditionManager
from reporter.stacks.kserve.derived.revisions import (
    TABLE,
    RevisionHistory,
    Share,
    propagate,
    walk,
)
from reporter.stacks.kserve.objects import Addressable, Component
from tests.unit.stacks.kserve.derived.building import (
    component,
    pair,
    routed,
    typed_service,
)

ROWS = [
    # row, lr pr before, C R, traffic, lr pr after
    ("a", "0, 0", "v2, v2", "v2:100 L", "v2, 0"),
    ("a", "v1, 0", "v2, v2", "v2:100 L", "v2, v1"),
    ("a", "v1, v0", "v3, v2", "v2:100 L", "v2, v1"),
    ("b", "v1, 0", "v2, v2", "v2:0 L", "v1, 0"),
    ("b", "v1, v0", "v2, v2", "v2:99 L, v1:1 -", "v1, v0"),
    ("b", "v1, 0", "v3, v2", "v2:50 L", "v1, 0"),
    ("c", "v1, 0", "v2, v2", "v2:~ L", "v1, 0"),
    ("c", "v1, 0", "v2, v2", "v2:~ L, v2:100 -", "v1, 0"),
    ("d", "v2, v1", "v2, v2", "v2:0 L, v2:100 -", "v1, v1"),
    ("d", "v2, v1", "v2, v2", "v2:99 L, v2:1 -", "v1, v1"),
    ("d", "v2, v1", "v2, v2", "v2:20 L, v2:80 ?, v1:7 -", "v1, v1"),
    ("e", "v2, 0", "v2, v2", "v2:0 L, v2:100 -", "v2, 0"),
    ("f", "v2, v1", "v2, v2", "v2:0 L, v1:100 -", "v2, v1"),
    ("f", "v2, v1", "v2, v2", "v2:90 L, v2:~ -", "v2, v1"),
    ("f", "v2, 0", "v2, v2", "v2:60 L, v2:60 -", "v2, 0"),
    ("g", "v2, v1", "v3, v2", "v2:0 L, v2:100 -", "v2, v1"),
    ("g", "v2, 0", "v3, v2", "v2:50 L", "v2, 0"),
    ("h", "v2, v1", "v2, v2", "v2:100 L", "v2, v1"),
    ("h", "v2, v1", "v3, v2", "v2:100 L, v2:100 -", "v2, v1"),
    ("i", "v2, v1", "v2, v2", "v2:~ L", "v2, v1"),
    ("j", "v1, 0", "v2, v2", "v2:100 -", "v1, 0"),
    ("j", "v1, 0", "v2, v2", "v2:100 ?", "v1, 0"),
    ("j", "v1, 0", "v2, v2", "v1:100 L", "v1, 0"),
    ("j", "v1, v0", "v2, v2", "", "v1, v0"),
]

EXAMPLES = [
    # number, lr pr before, C R, traffic, lr pr after, rows
    ("1 first rollout", "0, 0", "v1, v1", "v1:100 L", "v1, 0", "a"),
    ("2 canary 20, v2 starting", "v1, 0", "v2, v1", "v1:20 L, v1:80 -", "v1, 0", "g"),
    ("3 v2 ready at 20", "v1, 0", "v2, v2", "v2:20 L, v1:80 -", "v1, 0", "b"),
    ("4 promotion", "v1, 0", "v2, v2", "v2:100 L", "v2, v1", "a"),
    ("5 rollback, pass 1", "v2, v1", "v2, v2", "v2:0 L, v2:100 -", "v1, v1", "d"),
    ("6 rollback, pass 2", "v1, v1", "v2, v2", "v2:0 L, v1:100 -", "v1, v1", "b"),
    ("7 promoted again", "v1, v1", "v2, v2", "v2:100 L", "v2, v1", "a"),
    ("8 canary 20 on the promoted", "v2, v1", "v2, v2", "v2:20 L, v2:80 -", "v1, v1", "d"),
    ("9 rollback of the very first", "v1, 0", "v1, v1", "v1:0 L, v1:100 -", "v1, 0", "e"),
    ("10 only 90 assigned", "v1, 0", "v1, v1", "v1:90 L", "v1, 0", "f"),
    ("11 rollback while v3 fails", "v2, v1", "v3, v2", "v2:0 L, v2:100 -", "v2, v1", "g"),
    ("12 percent missing", "v1, 0", "v2, v2", "v2:~ L", "v1, 0", "c"),
    ("13 flag absent", "v1, 0", "v2, v2", "v2:100 ?", "v1, 0", "j"),
    ("14a two flagged, low first", "v2, v1", "v2, v2", "v2:0 L, v2:100 L", "v2, v1", "da"),
    ("14b two flagged, high first", "v2, v1", "v2, v2", "v2:100 L, v2:0 L", "v1, v1", "hd"),
    ("15 gradual rollout", "v1, 0", "v2, v2", "v1:60 L, v2:40 L", "v1, 0", "b"),
    ("16 third revision", "v2, v1", "v3, v3", "v3:100 L", "v3, v2", "a"),
    ("17 new revision fails", "v1, 0", "v2, v1", "v1:100 L", "v1, 0", "h"),
    ("18 service recreated", "v2, v1", "0, 0", "", "v2, v1", "j"),
    ("19 stale route", "v1, 0", "v2, v2", "v1:100 L", "v1, 0", "j"),
    ("20 sum 110", "v2, v1", "v2, v2", "v2:10 L, v2:100 -", "v2, v1", "f"),
]

NOTES = [
    ("above 100, not rolled out", "v1, 0", "v2, v2", "v2:101 L", "v1, 0", "c"),
    ("above 100, rolled out", "v2, v1", "v2, v2", "v2:101 L, v2:-1 -", "v2, v1", "i"),
    ("below 0 is below 100", "v2, v1", "v2, v2", "v2:-1 L, v2:101 -", "v1, v1", "d"),
    ("a second rollback has no effect", "v1, v1", "v1, v1", "v1:0 L, v1:100 -", "v1, v1", "d"),
    ("an entry without name wipes the record", "v2, v1", "0, 0", ":100 L", "0, v2", "a"),
]


@pytest.mark.parametrize(("letter", "before", "revisions", "entries", "after"), ROWS)
def test_row_of_the_truth_table(letter, before, revisions, *, entries, after):
    """The row that applies, and what it makes of lr and pr."""
    history, rows = walk(RevisionHistory(*pair(before)), routed(revisions, entries))
    assert history == pair(after)
    assert [row.letter for row in rows] == [letter]


def test_each_row_has_a_case():
    """No row of the table is left out above."""
    assert {each[0] for each in ROWS} == {row.letter for row in TABLE} | {"j"}


SITUATIONS = [
    (a, b, share, c, d) for a, b, c, d in product((True, False), repeat=4) for share in Share
]


def test_exactly_one_row_is_about_any_situation():
    """The table has neither holes nor overlaps."""
    rows = {each: [row.letter for row in TABLE if row.matches(each)] for each in SITUATIONS}
    assert {each: letters for each, letters in rows.items() if len(letters) != 1} == {}


@pytest.mark.parametrize(
    ("before", "revisions", "entries", "after", "letters"),
    [each[1:] for each in EXAMPLES + NOTES],
    ids=[each[0] for each in EXAMPLES + NOTES],
)
def test_worked_example(before, revisions, entries, after, letters):
    """What a pass makes of lr and pr in each situation, and by which rows."""
    history, rows = walk(RevisionHistory(*pair(before)), routed(revisions, entries))
    assert history == pair(after)
    assert "".join(row.letter for row in rows) == letters


def propagated(before, service):
    conditions = ConditionManager()
    return propagate(Component.PREDICTOR, before, service.status, conditions=conditions), conditions


def test_revisions_and_traffic_are_taken_over_also_when_empty():
    """What Knative forgot, KServe forgets; only the history stays."""
    before = component("v2, v1", "v2, v2", "v2:100 L")
    after = propagated(before, typed_service("0, 0", ""))[0]
    assert (after.latest_created_revision, after.latest_ready_revision) == ("", "")
    assert after.traffic is None
    assert (after.latest_rolledout_revision, after.previous_rolledout_revision) == ("v2", "v1")


@pytest.mark.parametrize(
    ("ready", "url", "kept"),
    [
        ("True", "http://new", "http://new"),
        ("True", None, "http://old"),
        ("False", "http://new", "http://old"),
        ("Unknown", "http://new", "http://old"),
    ],
)
def test_urls_are_overwritten_only_while_ready_and_never_cleared(ready, url, kept):
    """A component that is not ready keeps its old URL and address."""
    patch = {"status": {"url": url, "address": {"url": url} if url else None}}
    service = typed_service("v1, v1", "v1:100 L", patch, Ready=ready)
    before = component("v1, 0")
    before = type(before)(url="http://old", address=Addressable(url="http://old"))
    after = propagated(before, service)[0]
    assert (after.url, after.address.url) == (kept, kept)


def test_conditions_are_taken_over_and_an_absent_one_stays():
    """Ready, RoutesReady and ConfigurationsReady of the Knative Service; no others."""
    service = typed_service(
        "v1, v1",
        "v1:100 L",
        {
            "status": {
                "conditions": [
                    {"type": "Ready", "status": "False", "reason": "RevisionFailed"},
                    {"type": "ConfigurationsReady", "status": "Unknown"},
                    {"type": "Other", "status": "False"},
                ]
            }
        },
    )
    _, conditions = propagated(component("v1, 0"), service)
    found = {each.type: (each.status, each.reason) for each in conditions.conditions()}
    assert found == {
        "IngressReady": ("Unknown", ""),
        "PredictorConfigurationReady": ("Unknown", ""),
        "PredictorReady": ("False", "RevisionFailed"),
        "Ready": ("False", "RevisionFailed"),
    }
