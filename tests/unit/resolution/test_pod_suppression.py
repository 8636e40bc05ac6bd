"""Between the faults of one pod: the cause is told, and the rest is suppressed by it."""

import pytest

from reporter.stacks.kaito.reasons import INFERENCESET_KIND, MODEL_PODS, WORKSPACES
from tests.tables import POD_SUPPRESSION
from tests.tables import of_inferencesets as t
from tests.unit.resolution.building import Resolver, crd, finding, seconds, snapshot

TABLE: dict[str, set[str]] = {}
"""Which fault explains which others of the same pod, of InferenceSets."""
for _row in POD_SUPPRESSION:
    if _row.upstream.startswith(INFERENCESET_KIND):
        TABLE.setdefault(_row.upstream, set()).update(_row.downstream)

PAIRS = [(upstream, each) for upstream, row in TABLE.items() for each in sorted(row)]


def fault(reason, pod="p-0", **fields):
    return finding(reason, pod, exempt=True, **fields)


@pytest.mark.parametrize(("upstream", "downstream"), PAIRS)
def test_explained_by_a_fault_of_the_same_pod(upstream, downstream):
    """It stays in the report and says by what; the cause's message says nothing of it."""
    resolver = Resolver()
    found = resolver.look(0, fault(upstream), fault(downstream))
    assert found == {upstream: "firing", downstream: "suppressed"}
    assert resolver[downstream].by == (upstream,)
    assert resolver[upstream].message == f"{upstream} of p-0"


@pytest.mark.parametrize(("upstream", "downstream"), PAIRS)
def test_not_explained_by_a_fault_of_another_pod(upstream, downstream):
    resolver = Resolver()
    found = resolver.look(0, fault(upstream, "p-0"), fault(downstream, "p-1"))
    assert found == {upstream: "firing", downstream: "firing"}


@pytest.mark.parametrize(("upstream", "downstream"), PAIRS)
def test_pods_that_are_not_explained_are_told(upstream, downstream):
    resolver = Resolver()
    worse = fault(downstream, "p-0", severity=9)
    resolver.look(0, fault(upstream, "p-0"), worse, fault(downstream, "p-1"))
    assert resolver[downstream].disposition == "firing"
    assert resolver[downstream].message == f"{downstream} of p-1"
    assert resolver[downstream].related.name == "p-1"


def test_a_cause_in_its_grace_explains_nothing_yet():
    resolver = Resolver()
    found = resolver.look(0, finding(MODEL_PODS, "p-0", budget=seconds(60)), fault(t.KV_CACHE))
    assert found == {MODEL_PODS: "pending", t.KV_CACHE: "firing"}
    found = resolver.look(60, finding(MODEL_PODS, "p-0", budget=seconds(60)), fault(t.KV_CACHE))
    assert found == {MODEL_PODS: "firing", t.KV_CACHE: "suppressed"}


def test_a_cause_that_is_clearing_still_explains():
    resolver = Resolver()
    resolver.look(0, fault(t.KV_CACHE), fault(t.LATENCY))
    assert resolver.look(30, fault(t.LATENCY)) == {t.KV_CACHE: "clearing", t.LATENCY: "suppressed"}
    assert resolver.look(61, fault(t.LATENCY)) == {t.LATENCY: "firing"}


def test_causes_in_a_row_explain_each_other():
    resolver = Resolver()
    chain = (t.SCRAPE_FAILING, t.ENGINE_STALLED, t.KV_CACHE, t.LATENCY)
    found = resolver.look(0, *map(fault, chain))
    assert found == dict.fromkeys(chain, "suppressed") | {t.SCRAPE_FAILING: "firing"}
    assert resolver[t.LATENCY].by == tuple(sorted(chain[:3]))


def test_a_download_that_stands_still_is_told_as_that():
    resolver = Resolver()
    resolver.look(0, fault(t.DOWNLOAD_SLOW))
    found = resolver.look(120, fault(t.DOWNLOAD_SLOW), fault(t.DOWNLOAD_STALLED))
    assert found == {t.DOWNLOAD_SLOW: "suppressed", t.DOWNLOAD_STALLED: "firing"}


def test_runtime_reasons_do_not_outrank_each_other():
    """They stand outside of the chain, and beside what the chain tells."""
    resolver = Resolver()
    found = resolver.look(0, fault(t.KV_CACHE), fault(t.OUTPUT_CORRUPTED), fault(MODEL_PODS, "p-9"))
    assert set(found.values()) == {"firing"}


def test_a_cause_that_rests_on_unconfirmed_data_explains_nothing_yet():
    resolver = Resolver()
    resolver.look(0, fault(t.KV_CACHE))
    found = resolver.look(
        15, fault(MODEL_PODS), fault(t.KV_CACHE), seen=snapshot(unconfirmed=[WORKSPACES])
    )
    assert found == {MODEL_PODS: "pending", t.KV_CACHE: "firing"}


def test_a_young_fault_that_is_gone_explains_nothing():
    """It was never told of that pod, though it was of another."""
    resolver = Resolver()
    latency = fault(t.LATENCY, "p-1")
    resolver.look(0, fault(t.KV_CACHE), finding(t.KV_CACHE, "p-1", budget=seconds(90)), latency)
    assert resolver.look(10, latency) == {t.KV_CACHE: "clearing", t.LATENCY: "firing"}


def test_what_is_in_its_grace_stays_pending():
    found = Resolver().look(0, fault(t.KV_CACHE), finding(t.LATENCY, "p-0", budget=seconds(90)))
    assert found == {t.KV_CACHE: "firing", t.LATENCY: "pending"}


MISSING, SETS = "clusterCRDMissing", "inferencesets.kaito.sh"


def test_what_a_cause_of_the_cluster_explains_is_explained_by_that():
    """It comes before what is wrong with a pod."""
    missing = fault(MISSING, involved=crd(SETS), governs=True)
    resolver = Resolver()
    found = resolver.look(0, missing, fault(t.KV_CACHE), fault(t.LATENCY))
    assert found == {MISSING: "firing", t.KV_CACHE: "suppressed", t.LATENCY: "suppressed"}
    assert resolver[t.LATENCY].by == (MISSING,)


def test_what_no_cause_of_the_cluster_explains_may_be_explained_within_its_pod():
    missing = fault(MISSING, involved=crd(SETS), governs=True)
    own = [fault(each, "p-1", independent=True) for each in (t.KV_CACHE, t.LATENCY)]
    found = Resolver().look(0, missing, fault(t.LATENCY), *own)
    assert found == {MISSING: "firing", t.KV_CACHE: "firing", t.LATENCY: "suppressed"}


def test_a_cause_that_was_explained_itself_and_is_gone_explains_nothing():
    resolver = Resolver()
    unhealthy, stalled, full = map(fault, (t.ENGINE_UNHEALTHY, t.ENGINE_STALLED, t.KV_CACHE))
    found = resolver.look(0, unhealthy, stalled, full)
    assert found == {
        t.ENGINE_UNHEALTHY: "firing", t.ENGINE_STALLED: "suppressed", t.KV_CACHE: "suppressed",
    }  # fmt: skip
    found = resolver.look(10, unhealthy, full)
    assert found == {t.ENGINE_UNHEALTHY: "firing", t.KV_CACHE: "firing"}


def test_all_causes_are_named_in_order():
    resolver = Resolver()
    causes = sorted(upstream for upstream, row in TABLE.items() if t.LATENCY in row)
    resolver.look(0, *map(fault, causes), fault(t.LATENCY))
    assert resolver[t.LATENCY].by == tuple(causes)
