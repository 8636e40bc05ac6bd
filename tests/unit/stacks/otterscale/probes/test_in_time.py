"""What operators see of a ModelService over time: probes and resolution together, in virtual time."""

from itertools import pairwise

import pytest

from reporter.evaluation import evaluate_again
from reporter.metrics.looks.look import EngineLook, Failure, Look
from reporter.metrics.looks.window import (
    NONE,
    Doubt,
    History,
    Judged,
    MetricFault,
    PodVerdict,
    Samples,
)
from reporter.model.instant import rfc3339
from reporter.probes.reuse import Answered
from reporter.resolution.memory import Memory
from reporter.resolution.resolve import resolve
from reporter.setting_types import Switched
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.building import at, condition, deployment, namespace, snapshot_of
from tests.unit.probes.runtime.scraped import TARGET, seconds
from tests.unit.stacks.otterscale.probes.otterscale import (
    EPP,
    NAME,
    NS,
    SETTINGS,
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
    gateway_auth_operator_deployment="", node_provisioner_name="",
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


def test_a_model_may_take_its_time_to_be_unpacked():
    """The start-up budget counts; the Deployment's deadline is shorter and does not."""
    running = starting(running={"startedAt": moment(5)})
    docs = broken({"status": {**running["status"], **JUST_SCHEDULED["status"]}})
    docs = changed(docs, "Pod", POD, YOUNG)
    late = condition("Progressing", "False", "ProgressDeadlineExceeded", since=moment(600))
    stalled = {**rolled_out(1, 0), "conditions": [late]}
    slow = changed(docs, "Deployment", "qwen3-decode", {"status": stalled})
    told = story((0, docs), (600, slow), until=2400)
    assert firsts(told) == {"PodsNotReady": SETTINGS.model_startup_budget_seconds}
    assert firsts(told, "secondary") == {"RolloutStalled": SETTINGS.model_startup_budget_seconds}


def scraped(*, answered, silent=False, started=300):
    """What is known of the decode pod's page; `silent`: so long that a rule tells it."""
    engines = {"0": EngineLook(running=0)} if answered else {}
    failure = None if answered else Failure.REFUSED
    look = Look(
        target=TARGET, at=at(started + 10), failure=failure, engines=engines, known=answered
    )
    reason = "MetricsScrapeFailing"
    fault = MetricFault(
        reason=reason, cause="refused", text="does not answer", severity=0, since=at(started).wall
    )
    verdict = PodVerdict(
        uid=f"uid-{POD}", faults={reason: fault} if silent else {}, in_service=True
    )
    return Samples(scraping=True, pods={(NS, POD): Judged(History(seconds(15), (look,)), verdict)})


def restarted(second):
    """The pod runs again after a crash, and without probes it is Ready at once."""
    last = {"terminated": {"exitCode": 1, "reason": "Error"}}
    status = {
        "name": "vllm", "ready": True, "restartCount": 4, "lastState": last,
        "state": {"running": {"startedAt": moment(second)}},
    }  # fmt: skip
    return changed(healthy(), "Pod", POD, {"status": {"containerStatuses": [status]}})


def test_a_crash_loop_without_probes_is_one_episode():
    """Without probes the pod is Ready while vLLM loads the model that it will crash on."""
    docs = broken(crashing("vllm"))
    told = story((0, docs), (300, restarted(300), scraped(answered=False)), (420, docs), until=600)
    assert told == [(0, "firing", "PodsNotReady")]


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


def test_a_status_that_follows_each_crash_is_not_stale():
    """A pass comes before the operator does, each time that a pod in a crash loop changes."""
    told = story(*flipping(30, 40, 70, 90, 120, 160, 190), until=330)
    assert firsts(told) == {"PodsNotReady": 30}


def test_a_status_is_stale_since_its_pods_changed():
    """They have been Ready for ten minutes, which the operator has not seen."""
    docs = changed(healthy(), "ModelService", NAME, {"status": {"decodeReady": None}})
    assert firsts(story((0, docs), until=60)) == {"StatusStale": 0}


def test_a_status_that_follows_no_crash_is_stale():
    """The operator has been stuck since before the pod crashed."""
    docs = [*flipping(30)][1][1]
    told = firsts(story((0, healthy()), (30, docs), until=330))
    assert told == {"PodsNotReady": 30, "StatusStale": 150}


@pytest.mark.parametrize(
    "proof", [scraped(answered=True), scraped(answered=False, silent=True), NONE]
)
def test_it_ends_when_the_engine_answers(proof):
    """Or when its silence is told as such, or nobody asks it."""
    told = story((0, broken(crashing("vllm"))), (300, restarted(300), proof), until=420)
    assert firsts(told, "clearing") == {"PodsNotReady": 300}


def without_statistics():
    """A page without a name of vLLM, as with --disable-log-stats."""
    look = Look(target=TARGET, at=at(310))
    judged = Judged(History(seconds(15), (look,)), PodVerdict(uid=f"uid-{POD}", in_service=True))
    return Samples(scraping=True, pods={(NS, POD): judged})


def unreachable(*, in_service):
    """No pod can be scraped, so that the silence of one says nothing of it."""
    seen = scraped(answered=False, silent=True)
    judged = seen.pods[NS, POD]
    ((reason, fault),) = judged.verdict.faults.items()
    doubts = {reason: Doubt("no pod can be scraped", seconds(310), fault)}
    verdict = PodVerdict(uid=f"uid-{POD}", doubts=doubts, failing=True, in_service=in_service)
    return Samples(scraping=True, pods={(NS, POD): Judged(judged.history, verdict)})


@pytest.mark.parametrize(
    ("proof", "settings"),
    [
        pytest.param(without_statistics(), ALONE, id="a page that says nothing of the engine"),
        pytest.param(unreachable(in_service=True), ALONE, id="no pod can be reached"),
        pytest.param(scraped(answered=False), ALONE.model_copy(update={"runtime_reasons": Switched.OFF}), id="nobody judges silence"),
    ],
)  # fmt: skip
def test_a_crash_ends_also_where_no_page_will_ever_tell(proof, settings):
    """Else a pod that crashed once would be told of as long as it lives."""
    told = story(
        (0, broken(crashing("vllm"))), (300, restarted(300), proof), until=420, settings=settings
    )
    assert firsts(told, "clearing") == {"PodsNotReady": 300}


def test_a_silence_of_before_the_crash_gives_nothing_up():
    """What was found in the last life of the engine is kept as a doubt until it has settled."""
    proof = unreachable(in_service=False)
    told = story((0, broken(crashing("vllm"))), (300, restarted(300), proof), until=420)
    assert firsts(told, "clearing") == {}


def test_a_past_crash_begins_nothing():
    told = story((0, restarted(0), scraped(answered=False, started=0)), until=300)
    assert firsts(told) == {}


def test_a_pod_that_loads_its_model_does_not_answer_yet():
    """Without probes it is always Ready; its silence is told after the start-up budget only."""
    docs = restarted(0)
    seen = scraped(answered=False, silent=True, started=0)
    told = firsts(story((0, docs, seen), until=2400))
    assert told == {"MetricsScrapeFailing": SETTINGS.model_startup_budget_seconds}


def test_a_pod_that_had_answered_is_told_at_once():
    page = scraped(answered=True, silent=True, started=0)
    assert firsts(story((0, restarted(0), page), until=300)) == {"MetricsScrapeFailing": 0}


def test_firing_goes_on_when_its_page_leaves_the_memory():
    """What answered long ago is not seen any more, and the pod has no new start-up budget."""
    seen, later = (scraped(answered=each, silent=True, started=0) for each in (True, False))
    told = story((0, restarted(0), seen), (600, restarted(0), later), until=1200)
    assert told == [(0, "firing", "MetricsScrapeFailing")]


def test_a_crash_goes_on_while_the_pod_starts_again():
    """The unpack step that failed runs again: that is no recovery."""
    failing = broken(crashing("model-unpack"))
    again = broken(starting(running={"startedAt": moment(300)}))
    told = story((0, failing), (300, again), until=900)
    assert told == [(0, "firing", "PodsNotReady")]


@pytest.mark.parametrize(
    ("condition_", "second"),
    [
        (condition("ReplicaFailure", "True", "FailedCreate", "quota", since=moment(0)), 60),
        (condition("Progressing", "True"), SETTINGS.model_startup_budget_seconds),
    ],
    ids=["refused", "not made yet"],
)
def test_pods_that_are_not_there(condition_, second):
    """Pods that nobody refuses to make have the time of a start."""
    status = {**rolled_out(1, 0), "conditions": [condition_]}
    says = {"phase": "Running", "decodeReady": None}
    docs = without(healthy(), ("Pod", POD))
    docs = changed(docs, "Deployment", "qwen3-decode", {"status": status})
    docs = changed(docs, "ModelService", NAME, {"status": says})
    docs = changed(docs, "ModelService", NAME, NOT_READY)
    assert firsts(story((0, docs), until=1900)) == {"PodsNotReady": second}


def test_a_container_that_ended_well_is_no_crash():
    """It was told of for another cause, and that is over."""
    docs = restarted(300)
    status = docs_status(docs)
    status["lastState"] = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    seen = scraped(answered=False)
    told = story((0, broken(crashing("vllm"))), (300, docs, seen), until=420)
    assert firsts(told, "clearing") == {"PodsNotReady": 300}


def docs_status(docs):
    """The status of the decode pod's engine."""
    (found,) = (each for each in docs if each["kind"] == "Pod" and each["metadata"]["name"] == POD)
    return found["status"]["containerStatuses"][0]


def test_a_picker_whose_leader_changes_is_not_down_since_ever():
    """Only the leader is Ready, so that its Deployment was never Available says nothing."""
    docs = healthy(inferencePool={"endpointPicker": {"replicas": 3}})
    never = [
        condition("Available", "False", "MinimumReplicasUnavailable", since=moment(-86_400)),
        condition("Progressing", "False", "ProgressDeadlineExceeded", since=moment(-85_800)),
    ]

    def with_leaders(number):
        status = {**rolled_out(3, number), "conditions": never}
        return changed(docs, "Deployment", EPP, {"status": status})

    story_ = [(0, with_leaders(1)), (300, with_leaders(0)), (360, with_leaders(1))]
    assert firsts(story(*story_, until=600)) == {}
    assert firsts(story(*story_[:2], until=600)) == {"EPPNotReady": 420}
    message = one(with_leaders(0), "EPPNotReady").message
    assert "not" in message, "a deadline that passes by design is no cause"


DOWN = [
    namespace("otterscale-system"),
    deployment("otterscale-system", "model-operator-controller-manager", ready=0),
]


@pytest.mark.parametrize(
    ("docs", "reason"),
    [
        (without(healthy(), ("InferencePool", NAME)), "ObjectMissing"),
        (without(healthy(), ("PodMonitor", "qwen3-decode")), "Drift"),
        (changed(healthy(), "ModelService", NAME, {"metadata": {"generation": 3}}), "NotObserved"),
        (changed(healthy(), "ModelService", NAME, {"status": {"decodeReady": 5}}), "StatusStale"),
        (
            changed(healthy(), "ModelService", NAME, {"status": {"conditions": [condition("Ready", "False", "ReconcileError", "x")]}}),
            "ReconcileFailed",
        ),
    ],
)  # fmt: skip
def test_an_operator_that_is_down_explains_it(docs, reason):
    told = story((0, [*docs, *DOWN]), until=400)
    assert firsts(told).keys() == {"clusterOtterScaleOperatorNotReady"}
    assert reason in firsts(told, "suppressed")
