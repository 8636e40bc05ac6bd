"""Verdicts on the pods of a ModelService, and what is in doubt."""

from dataclasses import replace

import pytest

from reporter.catalogue import runtime as t
from reporter.catalogue.pickers import PICKER_NAMES
from reporter.metrics.looks.look import Failure
from reporter.metrics.looks.window import Doubt, History, Judged, MetricFault, PodVerdict, Samples
from reporter.stacks.otterscale.reasons import MODELSERVICE_KIND
from tests.unit.probes.building import SINCE_AT
from tests.unit.probes.runtime.scraped import TARGET, Scraped, seconds, serving
from tests.unit.stacks.otterscale.probes.otterscale import (
    NAME,
    NS,
    TITLE,
    evaluation,
    healthy,
)

PODS = ("qwen3-decode-0", "qwen3-prefill-0")
PICKER = "qwen3-epp-0"
NAMES = [each.name for each in (*t.DOWNLOADS, *t.RUNTIME)]


def ours(reason):
    return t.of_kind(reason, MODELSERVICE_KIND)


def samples(*reasons, pod=PODS[0], doubts=(), rest=True):
    def fault(reason):
        return MetricFault(reason=reason, cause="cause", text="suffers", severity=3, since=SINCE_AT)

    verdicts = {name: PodVerdict(uid=f"uid-{name}") for name in ((*PODS, PICKER) if rest else ())}
    verdicts[pod] = PodVerdict(
        uid=f"uid-{pod}",
        faults={each: fault(each) for each in reasons},
        doubts={each: Doubt("why", seconds(0)) for each in doubts},
    )
    judged = {(NS, name): Judged(History(seconds(15)), each) for name, each in verdicts.items()}
    return Samples(scraping=True, pods=judged)


@pytest.mark.parametrize("pod", PODS)
@pytest.mark.parametrize("reason", NAMES)
def test_each_reason_is_told_of_the_modelservice(reason, pod):
    """Of pods of both roles, with the pod's name."""
    (finding,) = evaluation(healthy(), samples=samples(reason, pod=pod)).findings
    assert finding.reason == ours(reason)
    assert str(finding.subject) == f"modelservice/{NS}/{NAME}"
    assert finding.related.name == pod
    assert finding.message.startswith(f"{TITLE}: pod {pod}: suffers")


@pytest.mark.parametrize("reason", [t.BACKLOG, t.REJECTED])
def test_what_more_replicas_will_relieve_waits_for_them(reason):
    """It neither begins nor ends while a role has fewer Ready pods than it wants."""
    docs = healthy(decode={"replicas": 2})
    assert ours(reason) in {
        each.reason for each in evaluation(docs, samples=samples(reason)).findings
    }
    docs = [each for each in docs if each["metadata"]["name"] != "qwen3-decode-1"]
    result = evaluation(docs, samples=samples(reason))
    assert ours(reason) not in {each.reason for each in result.findings}
    assert {each.name: set(which) for each, which in result.undecided.items()} == {
        PODS[0]: {ours(reason)}
    }


@pytest.mark.parametrize("until", [300, 900])
def test_engine_that_answered_once_is_not_said_never_to_have(until):
    """However long ago that was: its silence has another message, and no start-up budget."""
    target = replace(TARGET, namespace=NS, name=PODS[0], uid=f"uid-{PODS[0]}", containers=())
    pod = Scraped()
    pod.watch(
        lambda at: (serving(at) if at < 60 else {"failure": Failure.REFUSED}) | {"target": target},
        until,
    )
    seen = Samples(scraping=True, pods={(NS, PODS[0]): Judged(pod.history, pod.verdict)})
    (finding,) = evaluation(healthy(), samples=seen).findings
    assert finding.message.endswith("its metrics could not be read for 2 min: refused")
    assert finding.budget is None


def test_pods_that_were_not_scraped_yet_are_in_doubt():
    undecided = evaluation(healthy(), samples=Samples(scraping=True)).undecided
    assert {each.name: len(which) for each, which in undecided.items()} == {
        **dict.fromkeys(PODS, len(NAMES)),
        PICKER: len(PICKER_NAMES),
    }
