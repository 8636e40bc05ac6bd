"""What operators see of a ModelService over time: probes and resolution together, in virtual time."""

from itertools import pairwise

from reporter.evaluation import evaluate_again
from reporter.metrics.samples.sample import EngineSample, Failure, Sample
from reporter.metrics.samples.window import (
    NONE,
    Doubt,
    History,
    Judged,
    MetricFault,
    PodSamples,
    PodVerdict,
)
from reporter.model.instant import rfc3339
from reporter.probes.reuse import Answered
from reporter.resolution.memory import Memory
from reporter.resolution.resolve import resolve
from reporter.setting_types import BUDGETS, TimeBudget
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import rows
from tests.unit.probes.building import at, condition, deployment, namespace, snapshot_of
from tests.unit.probes.runtime.scraped import TARGET, seconds
from tests.unit.stacks.otterscale.probes.otterscale import (
    EPP,
    NAME,
    NS,
    changed,
    healthy,
    one,
    rolled_out,
    without,
)
from tests.unit.stacks.otterscale.probes.pods import crashing, starting

STEP = 15
POD = "qwen3-decode-0"
OPERATOR = [
    namespace("otterscale-system"),
    deployment("otterscale-system", "model-operator-controller-manager"),
]
ALONE = FullEvaluationSettings(
    istiod_deployment="", kaito_deployment="", gateway_auth_deployment="", bbr_deployment="",
    keda_namespace=(), keda_scaler_deployment="", azure_authz_deployment="",
    node_provisioner_name="",
)  # fmt: skip


def moment(second):
    return rfc3339(at(second).wall)


def story(*stages, until, settings=ALONE):
    """Return what is told: (second, disposition, reason) whenever that of a reason changes.

    A stage is the second it begins, the documents, and what was scraped.
    """
    starts = [*(stage[0] for stage in stages), until]
    memory, told, before = Memory(), [], {}
    for (start, end), (_, docs, *scraped) in zip(pairwise(starts), stages, strict=True):
        snapshot = snapshot_of(*_with_operator(docs))
        samples = scraped[0] if scraped else NONE
        answered = Answered()
        for second in range(start, end, STEP):
            evaluation, answered = evaluate_again(snapshot, settings, answered, samples=samples)
            resolution = resolve(evaluation, snapshot, memory, now=at(second), settings=settings)
            memory = resolution.memory
            report = resolution.report
            now = {each.reason: str(each.disposition) for each in report.findings}
            now |= {each.reason: "ready" for each in report.ready if each.due}
            now = {
                key: each
                for key, each in now.items()
                if key.startswith(("modelservice", "clusterOtter"))
            }
            told += [
                (second, each, reason.removeprefix("modelservice"))
                for reason, each in sorted(now.items())
                if before.get(reason) != each
            ]
            before = now
    return told


def _with_operator(docs):
    """A ModelService needs the operator, so it runs where a story says nothing of it."""
    named = {each["metadata"]["name"] for each in docs}
    return docs if OPERATOR[1]["metadata"]["name"] in named else [*OPERATOR, *docs]


def firsts(told, disposition="firing"):
    """When each reason was first told so."""
    found = {}
    for second, each, reason in told:
        if each == disposition:
            found.setdefault(reason, second)
    return found


def broken(patch, ready=0):
    docs = changed(healthy(), "Pod", POD, patch)
    docs = changed(docs, "Deployment", "qwen3-decode", {"status": rolled_out(1, ready)})
    says = [condition("Ready", "False", "PodsStarting", since=moment(0))]
    status = {"phase": "Running", "decodeReady": None, "conditions": says}
    return changed(docs, "ModelService", NAME, {"status": status})


NOT_READY = {"status": {"conditions": [condition("Ready", "False", "PartiallyReady")]}}
YOUNG = {"metadata": {"creationTimestamp": moment(0)}}
JUST_SCHEDULED = {
    "status": {
        "conditions": [
            condition("PodScheduled", "True", since=moment(0)),
            condition("Initialized", "False", since=moment(0)),
            condition("Ready", "False", since=moment(0)),
        ]
    }
}


def scraped(*, answered, silent=False, started=300):
    """What is known of the decode pod's page; `silent`: so long that a rule tells it."""
    engines = {"0": EngineSample(running=0)} if answered else {}
    failure = None if answered else Failure.REFUSED
    sample = Sample(
        target=TARGET, at=at(started + 10), failure=failure, engines=engines, known=answered
    )
    reason = "MetricsScrapeFailing"
    fault = MetricFault(
        reason=reason, cause="refused", text="does not answer", severity=0, since=at(started).wall
    )
    verdict = PodVerdict(
        uid=f"uid-{POD}", faults={reason: fault} if silent else {}, in_service=True
    )
    return PodSamples(
        scraping=True, pods={(NS, POD): Judged(History(seconds(15), (sample,)), verdict)}
    )


def flipping(*flips):
    """Yield stages of a decode pod that runs and crashes by turns, and the operator's status late."""
    status = {"phase": "Running", "decodeReady": None}
    says = [condition("Ready", "False", "PartiallyReady", "1/2 replicas ready")]
    late = changed(healthy(), "ModelService", NAME, {"status": {**status, "conditions": says}})
    yield 0, healthy()
    for n, second in enumerate(flips):
        down = crashing("vllm")["status"]
        ready = condition("Ready", "False", "ContainersNotReady", since=moment(second))
        conditions = [*down["conditions"][:2], ready]
        runs = n % 2 == 1
        for begins, behind in ((second, True), (second + 5, False)):
            docs = late if behind == runs else healthy()
            if runs:
                since = [condition("Ready", "True", since=moment(second))]
                docs = changed(docs, "Pod", POD, {"status": {"conditions": since}})
            if not runs:
                docs = changed(docs, "Pod", POD, {"status": {**down, "conditions": conditions}})
                docs = changed(docs, "Deployment", "qwen3-decode", {"status": rolled_out(1, 0)})
            yield begins, docs


def without_statistics():
    """A page without a name of vLLM, as with --disable-log-stats."""
    sample = Sample(target=TARGET, at=at(310))
    judged = Judged(History(seconds(15), (sample,)), PodVerdict(uid=f"uid-{POD}", in_service=True))
    return PodSamples(scraping=True, pods={(NS, POD): judged})


def unreachable(*, in_service):
    """No pod can be scraped, so that the silence of one says nothing of it."""
    seen = scraped(answered=False, silent=True)
    judged = seen.pods[NS, POD]
    ((reason, fault),) = judged.verdict.faults.items()
    doubts = {reason: Doubt("no pod can be scraped", seconds(310), fault)}
    verdict = PodVerdict(uid=f"uid-{POD}", doubts=doubts, failing=True, in_service=in_service)
    return PodSamples(scraping=True, pods={(NS, POD): Judged(judged.history, verdict)})


def restarted(second, code=1, reason="Error"):
    """The pod runs again after its container ended, and without probes it is Ready at once."""
    status = {
        "name": "vllm", "ready": True, "restartCount": 4,
        "lastState": {"terminated": {"exitCode": code, "reason": reason}},
        "state": {"running": {"startedAt": moment(second)}},
    }  # fmt: skip
    return changed(healthy(), "Pod", POD, {"status": {"containerStatuses": [status]}})


def unpacks(*conditions):
    """The pod unpacks since a moment, and its Deployment says so."""
    running = starting(running={"startedAt": moment(5)})
    docs = broken({"status": {**running["status"], **JUST_SCHEDULED["status"]}})
    status = {**rolled_out(1, 0), **({"conditions": list(conditions)} if conditions else {})}
    return changed(
        changed(docs, "Pod", POD, YOUNG), "Deployment", "qwen3-decode", {"status": status}
    )


def without_pods(told):
    """The decode pod is not there, and the Deployment says why."""
    docs = without(healthy(), ("Pod", POD))
    status = {**rolled_out(1, 0), "conditions": [told]}
    docs = changed(docs, "Deployment", "qwen3-decode", {"status": status})
    says = {"phase": "Running", "decodeReady": None, **NOT_READY["status"]}
    return changed(docs, "ModelService", NAME, {"status": says})


OF_THREE = healthy(inferencePool={"endpointPicker": {"replicas": 3}})
NEVER = [
    condition("Available", "False", "MinimumReplicasUnavailable", since=moment(-86_400)),
    condition("Progressing", "False", "ProgressDeadlineExceeded", since=moment(-85_800)),
]


def with_leaders(number):
    """Only the leader is Ready, so that its Deployment was never Available says nothing."""
    status = {**rolled_out(3, number), "conditions": NEVER}
    return changed(OF_THREE, "Deployment", EPP, {"status": status})


LATE = condition("Progressing", "False", "ProgressDeadlineExceeded", since=moment(600))
REFUSED = condition("ReplicaFailure", "True", "FailedCreate", "quota", since=moment(0))
CRASHED, UNPACK_FAILED = broken(crashing("vllm")), broken(crashing("model-unpack"))
UNPACKS_AGAIN = broken(starting(running={"startedAt": moment(300)}))
BEHIND = changed(healthy(), "ModelService", NAME, {"status": {"decodeReady": None}})
UNSEEN = [*flipping(30)][1][1]
SILENT, EARLY_SILENT = scraped(answered=False), scraped(answered=False, started=0)
TOLD_SILENT, ANSWERED = (scraped(answered=each, silent=True, started=0) for each in (False, True))
STARTUP = BUDGETS[TimeBudget.MODEL_STARTUP]
NOT_JUDGED = ALONE.model_copy(update={"disable_reasons": ("runtime",)})
PODS_AT_0, PODS_CLEAR = {"PodsNotReady": 0}, {"PodsNotReady": 300}


def again(proof, **options):
    """A crash, after which the pod runs again and this was scraped."""
    return [(0, CRASHED), (300, restarted(300), proof)], 420, options


@rows(
    ("stages", "until", "options", "fires", "clears"),
    {
        "a model may take its time to be unpacked: the Deployment's deadline is shorter and does not count": (
            [(0, unpacks()), (600, unpacks(LATE))], 2400, {}, {"PodsNotReady": STARTUP}, {},
        ),
        "a crash loop without probes is one episode: the pod is Ready while it loads what it will crash on": (
            [(0, CRASHED), (300, restarted(300), SILENT), (420, CRASHED)], 600, {}, PODS_AT_0, {},
        ),
        "a status that follows each crash is not stale: a pass comes before the operator does": (
            [*flipping(30, 40, 70, 90, 120, 160, 190)], 330, {}, {"PodsNotReady": 30}, None,
        ),
        "a status is stale since its pods changed": ([(0, BEHIND)], 60, {}, {"StatusStale": 0}, {}),
        "a status that follows no crash is stale: the operator was stuck before": (
            [(0, healthy()), (30, UNSEEN)], 330, {}, {"PodsNotReady": 30, "StatusStale": 150}, {},
        ),
        "it ends when the engine answers": (*again(scraped(answered=True)), PODS_AT_0, PODS_CLEAR),
        "or its silence is told as such": (*again(scraped(answered=False, silent=True)), None, PODS_CLEAR),
        "or nobody asks it": (*again(NONE), PODS_AT_0, PODS_CLEAR),
        "or its page says nothing of the engine": (*again(without_statistics()), PODS_AT_0, PODS_CLEAR),
        "or no pod can be reached": (*again(unreachable(in_service=True)), None, PODS_CLEAR),
        "or nobody judges silence": (*again(SILENT, settings=NOT_JUDGED), PODS_AT_0, PODS_CLEAR),
        "a silence of before the crash gives nothing up: it is a doubt until it has settled": (*again(unreachable(in_service=False)), PODS_AT_0, {}),
        "a container that ended well is no crash": ([(0, CRASHED), (300, restarted(300, 0, "Completed"), SILENT)], 420, {}, PODS_AT_0, PODS_CLEAR),
        "a past crash begins nothing": ([(0, restarted(0), EARLY_SILENT)], 300, {}, {}, {}),
        "a pod that loads its model does not answer yet: without probes it is always Ready": (
            [(0, restarted(0), TOLD_SILENT)], 2400, {}, {"MetricsScrapeFailing": STARTUP}, {},
        ),
        "one that had answered is told at once": ([(0, restarted(0), ANSWERED)], 300, {}, {"MetricsScrapeFailing": 0}, {}),
        "it goes on when its page leaves the memory: no new start-up budget": (
            [(0, restarted(0), ANSWERED), (600, restarted(0), TOLD_SILENT)], 1200, {}, {"MetricsScrapeFailing": 0}, {},
        ),
        "a crash goes on while the pod starts again: that a step runs again is no recovery": (
            [(0, UNPACK_FAILED), (300, UNPACKS_AGAIN)], 900, {}, PODS_AT_0, {},
        ),
        "pods that are refused": ([(0, without_pods(REFUSED))], 1900, {}, {"PodsNotReady": 60}, {}),
        "pods that nobody refuses to make have the time of a start": (
            [(0, without_pods(condition("Progressing", "True")))], 1900, {}, {"PodsNotReady": STARTUP}, {},
        ),
        "a picker whose leader changes is not down since ever": (
            [(0, with_leaders(1)), (300, with_leaders(0)), (360, with_leaders(1))], 600, {}, {}, {},
        ),
        "nor is one that lost its leader": ([(0, with_leaders(1)), (300, with_leaders(0))], 600, {}, {"EPPNotReady": 420}, {}),
    },
)  # fmt: skip
def test_what_is_told_over_time(stages, until, options, *, fires, clears):
    """When each reason fires and clears first; None where that is not the point."""
    told = story(*stages, until=until, **options)
    assert fires in (None, firsts(told))
    assert clears in (None, firsts(told, "clearing"))


def test_a_stalled_rollout_is_secondary_to_its_pods():
    told = story((0, unpacks()), (600, unpacks(LATE)), until=2400)
    assert firsts(told, "secondary") == {"RolloutStalled": STARTUP}
    message = one(with_leaders(0), "EPPNotReady").message
    assert "not" in message, "a deadline that passes by design is no cause"
