"""Verdicts on endpoint pickers become findings of their InferenceSet, unless its pods tell them better."""

import pytest

from reporter.catalogue import pickers as p
from reporter.catalogue import runtime as t
from reporter.catalogue.runtime import of_kind
from reporter.metrics.looks.window import History, Judged, Samples
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from tests.tables import BY_NAME
from tests.unit.probes.asking import evaluate_inferencesets
from tests.unit.probes.runtime.scraped import seconds
from tests.unit.stacks.kaito.probes.kaito import NS, SETTINGS, model_pod, not_ready
from tests.unit.stacks.kaito.probes.test_picker_in_time import cluster
from tests.unit.stacks.kaito.probes.test_runtime import verdict

POD = "qwen-a-0"


def told(*reasons, more=(), of_pod=None, **changes):
    """The ends of the reasons that are told of the picker."""
    found = {"picker-0": verdict(*reasons, name="picker-0"), POD: of_pod or verdict()}
    samples = Samples(
        scraping=True,
        pods={(NS, name): Judged(History(seconds(15)), each) for name, each in found.items()},
    )
    findings = evaluate_inferencesets(cluster(*more, **changes), SETTINGS, samples=samples).findings
    names = {of_kind(each, INFERENCESET_KIND): each for each in p.PICKER_NAMES}
    return [names[each.reason] for each in findings if each.reason in names]


def test_each_is_told():
    """About the picker's pod, by the name of what it is."""
    assert told(*p.PICKER_NAMES) == [*p.PICKER_NAMES]


OTHER = model_pod("qwen-a-1", not_ready())
SILENT = {
    "no pod is Ready": ({"pod": not_ready()}, set(p.PICKER_NAMES)),
    "the picker is not Ready": ({"picker_ready": False}, set(p.PICKER_NAMES)),
    "a pod whose page we cannot read": (
        {"of_pod": verdict(t.SCRAPE_FAILING)}, {p.STALE_METRICS},
    ),
    "a pod without metrics": ({"of_pod": verdict(t.METRICS_MISSING)}, {p.STALE_METRICS}),
    "another pod is not Ready": ({"more": [OTHER]}, {p.SCHEDULING_FAILING}),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "silent"), SILENT.values(), ids=SILENT)
def test_what_silences_it(changes, silent):
    """That fault is told of the pod itself, and is the cause."""
    assert told(*p.PICKER_NAMES, **changes) == [e for e in p.PICKER_NAMES if e not in silent]


def test_only_the_first_keeps_the_model_from_serving():
    """The others are about part of the requests."""
    rows = {each: BY_NAME[of_kind(each, INFERENCESET_KIND)] for each in p.PICKER_NAMES}
    assert [each for each, row in rows.items() if row.chain] == [p.NO_ENDPOINTS]
    assert [each for each, row in rows.items() if row.blocks_ready] == [p.NO_ENDPOINTS]
