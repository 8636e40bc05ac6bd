"""Verdicts on the pods of a ModelServing."""

import pytest

from reporter.catalogue import runtime as t
from reporter.metrics.looks.window import History, Judged, MetricFault, PodVerdict, Samples
from reporter.stacks.kthena.reasons import MODELSERVING_KIND, ROLE_CREATING
from tests.unit.probes.asking import evaluate_modelservings
from tests.unit.probes.building import SINCE_AT, snapshot_of
from tests.unit.probes.runtime.scraped import seconds
from tests.unit.stacks.kthena.probes.kthena import NS, SETTINGS, TITLE, not_ready, stack

POD = "m-1-decode-0-0"


def samples(reason):
    fault = MetricFault(reason=reason, cause="cause", text="suffers", severity=3, since=SINCE_AT)
    verdict = PodVerdict(uid=f"uid-{POD}", faults={reason: fault}, doubts={})
    return Samples(scraping=True, pods={(NS, POD): Judged(History(seconds(15)), verdict)})


def findings(reason, changes=None):
    objects = stack(changes).values()
    return evaluate_modelservings(snapshot_of(*objects), SETTINGS, samples(reason)).findings


def test_a_fault_in_the_page_of_a_pod_is_told_of_its_modelserving():
    (finding,) = findings(t.KV_CACHE)
    assert finding.reason == t.of_kind(t.KV_CACHE, MODELSERVING_KIND)
    assert finding.message == f"{TITLE}: pod {POD}: suffers"


def test_a_pod_that_is_not_ready_is_the_same_object_in_both_findings():
    """Else it would not explain what its page says."""
    found = findings(t.ERROR_RATE, {f"Pod {POD}": not_ready()})
    by_reason = {each.reason: each.related for each in found}
    assert by_reason[ROLE_CREATING] == by_reason[t.of_kind(t.ERROR_RATE, MODELSERVING_KIND)]


@pytest.mark.parametrize(("changes", "told"), [(None, True), ({f"Pod {POD}": None}, False)])
def test_what_more_groups_will_relieve_waits_for_them(changes, told):
    other = {key.replace("m-1", "m-0"): each for key, each in (changes or {}).items()}
    names = {each.reason for each in findings(t.BACKLOG, other)}
    assert (t.of_kind(t.BACKLOG, MODELSERVING_KIND) in names) is told
