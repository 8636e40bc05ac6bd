"""Verdicts on pods and on endpoint pickers."""

from dataclasses import replace

import pytest

from reporter.catalogue import pickers as p
from reporter.catalogue import runtime as t
from reporter.catalogue.resources import DEPLOYMENTS
from reporter.catalogue.runtime import of_kind
from reporter.evaluation import evaluate, evaluate_again
from reporter.metrics.samples.sample import ContainerRun, Sample
from reporter.metrics.samples.window import (
    NONE,
    Doubt,
    History,
    Judged,
    MetricFault,
    PodSamples,
    PodVerdict,
)
from reporter.model.instant import Instant
from reporter.probes.reuse import Answered
from reporter.stacks.kaito.reasons import INFERENCESET_KIND, MODEL_EPP
from tests.tables import BY_NAME, rows
from tests.unit.probes.asking import evaluate_inferencesets
from tests.unit.probes.building import (
    CREATED,
    DELETING,
    SINCE_AT,
    condition,
    document,
    merged,
    pod,
    waiting,
)
from tests.unit.probes.building import pod as running_pod
from tests.unit.probes.runtime.scraped import TARGET, seconds
from tests.unit.stacks.kaito.probes.kaito import (
    NS,
    SET,
    SETTINGS,
    conditions,
    epp,
    findings,
    inferenceset,
    model_pod,
    not_ready,
    stack,
    tells,
    waits,
    without,
)


def fault(reason, severity=0):
    return MetricFault(
        reason=reason, cause="cause", text="suffers", severity=severity, since=SINCE_AT, engine=""
    )


def verdict(*reasons, name="qwen-a-0", doubts=(), uid=None, severity=0):
    return PodVerdict(
        uid=uid or f"uid-{name}",
        faults={each: fault(each, severity) for each in reasons},
        doubts={each: Doubt("why", seconds(0)) for each in doubts},
        in_service=True,
    )


def samples(*reasons, others=None, **fields):
    pods = {(NS, "qwen-a-0"): Judged(History(seconds(15)), verdict(*reasons, **fields))}
    for name, each in (others or {}).items():
        pods[NS, name] = Judged(History(seconds(15)), each)
    return PodSamples(scraping=True, pods=pods)


def evaluated(seen, *changes, **more):
    found = evaluate_inferencesets(stack(*changes, **more), SETTINGS, samples=seen)
    ends = {of_kind(each, INFERENCESET_KIND): each for each in t.ROWS}
    return [
        replace(each, reason=ends[each.reason]) for each in found.findings if each.reason in ends
    ], {ref.name: {ends[each] for each in reasons} for ref, reasons in found.inconclusive.items()}


DOWNLOADS = (t.DOWNLOAD_SLOW, t.DOWNLOAD_STALLED)


EVERYTHING = (*DOWNLOADS, *t.RUNTIME_NAMES)
IN_DOUBT = {"qwen-a-0": {*EVERYTHING}}
OF_SCALE = (t.BACKLOG, t.REJECTED)
FULL_AND_BUSY = samples(*OF_SCALE, t.KV_CACHE)
NOT_SCRAPED = PodSamples(scraping=True)
STREAMS = conditions(condition("ModelMirrorReady", "True"))
OTHER_SET = {"inferenceset.kaito.sh/created-by": "b", "kaito.sh/workspace": None}
OF_OTHER = [inferenceset(name="b"), merged(model_pod("b-0"), {"metadata": {"labels": OTHER_SET}})]
BEFORE = Sample(
    at=Instant(SINCE_AT, seconds(0)), target=replace(TARGET, containers=(ContainerRun("vllm", 2, None),))
)  # fmt: skip
OF_LAST_LIFE = PodSamples(
    scraping=True,
    pods={(NS, "qwen-a-0"): Judged(History(seconds(15), (BEFORE,)), verdict(t.KV_CACHE))},
)
NOT_RUNNING = {
    "being deleted": DELETING,
    "failed": {"status": {"phase": "Failed"}},
    "crashed": waits("CrashLoopBackOff"),
    "ended": not_ready({"terminated": {"exitCode": 1}}),
    "not begun": {"status": {"containerStatuses": None}},
}


def began(restarts):
    """The engine runs since a moment."""
    run = {"running": {"startedAt": "2026-11-20T11:59:00Z"}}
    status = {"name": "vllm", "ready": True, "restartCount": restarts, "state": run}
    return {"pod": {"status": {"containerStatuses": [status]}}}


def replicas(wanted, ready):
    return {"set": {"spec": {"replicas": wanted}, "status": {"readyReplicas": ready}}}


@rows(
    ("seen", "more", "changes", "told", "doubts"),
    {
        "the engine that was scraped": (OF_LAST_LIFE, [], began(2), [t.KV_CACHE], {}),
        "one that began again has not the faults of its last life: nothing is known of it": (OF_LAST_LIFE, [], began(3), [], IN_DOUBT),
        "a pod that was not scraped yet, as after a restart of the daemon": (NOT_SCRAPED, [], {}, [], IN_DOUBT),
        "another pod of that name": (samples(t.KV_CACHE, uid="earlier"), [], {}, [], IN_DOUBT),
        "nothing is scraped": (NONE, [], {}, [], {}),
        **{
            f"a pod that does not run has none, {name}: another reason tells of it, {of}": (seen, [], {"pod": pod}, [], {})
            for name, pod in NOT_RUNNING.items()
            for of, seen in (("scraped", samples(*EVERYTHING)), ("not scraped", NOT_SCRAPED))
        },
        "a download that is streamed: its page looks like one that stalls": (samples(*DOWNLOADS, t.KV_CACHE), [], {"workspace": STREAMS}, [t.KV_CACHE], {}),
        "a download": (samples(*DOWNLOADS), [], {"pod": not_ready()}, [*DOWNLOADS], {}),
        "a replica on its way: what it will relieve does not begin, and what fires goes on": (
            FULL_AND_BUSY, [], replicas(2, 1), [t.KV_CACHE], {"qwen-a-0": {*OF_SCALE}},
        ),
        **{
            f"none on its way: {ready} of {wanted}": (FULL_AND_BUSY, [], replicas(wanted, ready), [t.KV_CACHE, *OF_SCALE], {})
            for wanted, ready in ((2, 2), (1, None), (1, 2))
        },
        "pods of other sets are theirs": (samples(others={"b-0": verdict(t.KV_CACHE, name="b-0")}), OF_OTHER, {}, [t.KV_CACHE], {}),
    },
)  # fmt: skip
def test_what_pages_say_is_told_of_a_set(seen, more, changes, told, doubts):
    findings, inconclusive = evaluated(seen, *more, **changes)
    assert sorted(each.reason for each in findings) == sorted(told)
    assert inconclusive == doubts
    of = "b" if more else SET
    assert {str(each.subject) for each in findings} <= {f"inferenceset/{NS}/{of}"}


@pytest.mark.parametrize(
    ("left", "speeds", "tells"),
    [(60.0, (0.0, 1e6), True), (-1.0, (1e6, 0.0), True), (0.0, (1e6, 1e6), False), (60.0, (0.0, 0.0), False)],
)  # fmt: skip
def test_a_pod_that_downloads_does_more_than_start(left, speeds, tells):
    """Weights arrived and some are left: it is no pod that hangs."""
    samples = tuple(
        Sample(at=Instant(SINCE_AT, seconds(n)), target=TARGET, speed=speed, remaining=left)
        for n, speed in enumerate(speeds)
    )
    seen = PodSamples(
        scraping=True, pods={(NS, "qwen-a-0"): Judged(History(seconds(15), samples), verdict())}
    )
    found = evaluate_inferencesets(stack(pod=not_ready()), SETTINGS, samples=seen).findings
    said = ["its metrics show that it downloads weights" in each.message for each in found]
    assert said == [tells]


def test_another_verdict_asks_again_and_the_same_one_does_not():
    """Reuse goes by the verdict object, which the store keeps while it is equal."""
    snapshot, seen = stack(), samples(t.KV_CACHE)
    found, answered = evaluate_again(snapshot, SETTINGS, Answered(), samples=seen)
    again = PodSamples(scraping=True, pods=dict(seen.pods))
    _, same = evaluate_again(snapshot, SETTINGS, answered, samples=again)
    (asked,) = (each for each in answered.answers if each.kind == INFERENCESET_KIND)
    assert same.answers[asked] is answered.answers[asked]
    other, _ = evaluate_again(snapshot, SETTINGS, answered, samples=samples())
    full = of_kind(t.KV_CACHE, INFERENCESET_KIND)
    assert full in {each.reason for each in found.findings}
    assert full not in {each.reason for each in other.findings}
    assert other == evaluate(snapshot, SETTINGS, samples())


NAME = "qwen-inferencepool-epp"


def cluster(*more, picker_ready=True, **changes):
    """A healthy set whose picker has long been Ready, or is not."""
    ready = condition("Ready", "True" if picker_ready else "False", since=CREATED)
    picker = pod(
        NS, "picker-0", "picker",
        {
            "metadata": {"labels": {"inferencepool": NAME}},
            "status": {"podIP": "10.0.0.9", "conditions": [ready]},
        },
        ready=picker_ready,
    )  # fmt: skip
    reference = {"spec": {"endpointPickerRef": {"name": NAME, "port": {"number": 9002}}}}
    service = document("Service", NAME, NS, {"spec": {"selector": {"inferencepool": NAME}}})
    address = {"status": {"podIP": "10.0.0.7"}}
    changes.setdefault("pod", {})
    status = {**changes["pod"].get("status", {}), **address["status"]}
    changes["pod"] = {**changes["pod"], "status": status}
    return stack(picker, service, *more, pool=reference, **changes)


POD = "qwen-a-0"


def told(*reasons, more=(), of_pod=None, **changes):
    """The ends of the reasons that are told of the picker."""
    found = {"picker-0": verdict(*reasons, name="picker-0"), POD: of_pod or verdict()}
    samples = PodSamples(
        scraping=True,
        pods={(NS, name): Judged(History(seconds(15)), each) for name, each in found.items()},
    )
    findings = evaluate_inferencesets(cluster(*more, **changes), SETTINGS, samples=samples).findings
    names = {of_kind(each, INFERENCESET_KIND): each for each in p.PICKER_NAMES}
    return [names[each.reason] for each in findings if each.reason in names]


OTHER_POD = model_pod("qwen-a-1", not_ready())
SILENT = {
    "nothing": ({}, set()),
    "no pod is Ready": ({"pod": not_ready()}, set(p.PICKER_NAMES)),
    "the picker is not Ready": ({"picker_ready": False}, set(p.PICKER_NAMES)),
    "a pod whose page we cannot read": ({"of_pod": verdict(t.SCRAPE_FAILING)}, {p.STALE_METRICS}),
    "a pod without metrics": ({"of_pod": verdict(t.METRICS_MISSING)}, {p.STALE_METRICS}),
    "another pod is not Ready": ({"more": [OTHER_POD]}, {p.SCHEDULING_FAILING}),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "silent"), SILENT.values(), ids=SILENT)
def test_what_silences_it(changes, silent):
    """That fault is told of the pod itself, and is the cause."""
    assert told(*p.PICKER_NAMES, **changes) == [e for e in p.PICKER_NAMES if e not in silent]


def test_only_the_first_keeps_the_model_from_serving():
    """The others are about part of the requests."""
    found = {each: BY_NAME[of_kind(each, INFERENCESET_KIND)] for each in p.PICKER_NAMES}
    assert [each for each, row in found.items() if row.chain] == [p.NO_ENDPOINTS]
    assert [each for each, row in found.items() if row.blocks_ready] == [p.NO_ENDPOINTS]


UNLABELLED = {"metadata": {"labels": {"kaito.sh/owned-by": None}}}


ALL_GONE = {"epp": None, "route": None, "pool": None, "workspace": UNLABELLED}
CRASHING = merged(running_pod(NS, "epp-1", NAME, ready=False), waiting("CrashLoopBackOff"))
MISSING = {"cause": "missing", "transition": None, "created": None, "related": DEPLOYMENTS.ref_named(NS, NAME)}  # fmt: skip


@rows(
    ("snapshot", "expected"),
    {
        "it is missing: the grace counts from when it was first missed": (
            stack(epp=None), MISSING | {"ends": f": endpoint picker is missing (Deployment {NAME})"},
        ),
        **{
            f"it is expected by {left}: each of pool, route and chart says that the set asked for one": (
                stack(**{key: each for key, each in ALL_GONE.items() if key != left}), MISSING,
            )
            for left in ("route", "pool", "workspace")
        },
        "without a ready replica it is down, by the cause of its pod and the time of its Deployment": (
            stack(CRASHING, epp=epp(ready=0)),
            {"ends": "...0/1 ready...", "cause": "CrashLoopBackOff", "transition": SINCE_AT, "exempt": False, "budget": None},
        ),
        "absence needs a look": (without(stack(epp=None), DEPLOYMENTS), None),
        "a set not made by the chart needs none: plain KAITO and children of a MultiRoleInference have none": (stack(**ALL_GONE), None),
    },
)  # fmt: skip
def test_an_endpoint_picker(snapshot, expected):
    if expected is None:
        assert findings(snapshot, MODEL_EPP) == []
    else:
        tells(snapshot, MODEL_EPP, **expected)
