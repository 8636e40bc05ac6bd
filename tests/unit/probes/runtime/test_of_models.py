"""What the pages of pods show, as it is told of the models of each stack."""

from dataclasses import dataclass

import pytest

from reporter.catalogue import runtime as t
from reporter.catalogue.resources import PODS
from reporter.catalogue.runtime import of_kind
from reporter.evaluation import evaluate, evaluate_again
from reporter.metrics.samples.window import (
    Doubt,
    History,
    Judged,
    MetricFault,
    PodSamples,
    PodVerdict,
)
from reporter.probes.reuse import Answered
from reporter.stacks.settings import FullEvaluationSettings
from tests.scenarios.world import World
from tests.unit.probes.building import SINCE_AT, at
from tests.unit.probes.runtime.scraped import seconds

SETTINGS = FullEvaluationSettings()
NAMES = [each.name for each in (*t.DOWNLOADS, *t.RUNTIME)]


@dataclass(frozen=True)
class Model:
    """A model of a stack.

    Attributes:
        base: of scenarios, which holds it.
        subject: the model.
        pods: some of its pods.
        fewer: what leaves it with fewer replicas than it wants; None if it may not wait for them.

    """

    base: str
    subject: str
    pods: tuple[str, ...]
    fewer: dict | None = None

    def reason(self, name: str) -> str:
        """A reason from metrics as it is called for this model."""
        return of_kind(name, self.subject.partition("/")[0])

    def world(self, change: dict | None = None) -> World:
        found = World(list(dict.fromkeys(["healthy", self.base])), at(0))
        found.change(change or {}, at(0))
        return found


MODELS = [
    Model(
        "healthy", "inferenceset/demo/qwen", ("demo/qwen-abc-0",),
        {"InferenceSet demo/qwen": {"spec": {"replicas": 2}, "status": {"readyReplicas": 1}}},
    ),
    Model("modelserving", "modelserving/models/m", ("models/m-1-prefill-0-0", "models/m-1-decode-0-0"), {"Pod models/m-0-decode-0-0": None}),
    Model(
        "modelservice", "modelservice/llm/chat", ("llm/chat-decode-0", "llm/chat-prefill-0"),
        {"ModelService llm/chat": {"spec": {"decode": {"replicas": 2}}}},
    ),
    Model("inferenceservice", "inferenceservice/models/llm", ("models/v2-deployment-0",)),
    Model("llminferenceservice", "llminferenceservice/llms/pd", ("llms/pd-kserve-a", "llms/pd-kserve-prefill-a")),
]  # fmt: skip

of_each = pytest.mark.parametrize("model", MODELS, ids=lambda each: each.base)


def shown(world: World, place: str, *reasons: str, doubts: tuple[str, ...] = ()):
    """What is evaluated where the page of a pod shows these faults."""
    snapshot = world.snapshot(at(0))
    namespace, _, name = place.partition("/")
    pod = snapshot[PODS].get(namespace, name)
    faults = {
        each: MetricFault(reason=each, cause="cause", text="suffers", severity=3, since=SINCE_AT)
        for each in reasons
    }
    why = {each: Doubt("why", seconds(0)) for each in doubts}
    verdict = PodVerdict(uid=pod.metadata.uid, faults=faults, doubts=why, in_service=True)
    judged = Judged(History(seconds(15)), verdict)
    return evaluate(snapshot, SETTINGS, PodSamples(scraping=True, pods={(namespace, name): judged}))


@of_each
def test_each_fault_is_told_of_its_model(model):
    """At once, since the left edge of its window, and with the pod's name."""
    names = [each for each in NAMES if each != t.SCRAPE_FAILING]  # needs a scrape that failed
    for place in model.pods:
        found = shown(model.world(), place, *names).findings
        assert {each.reason for each in found} == {model.reason(each) for each in names}
        for each in found:
            assert (str(each.subject), str(each.related)) == (model.subject, f"Pod {place}")
            assert each.message.endswith(f"pod {each.related.name}: suffers")
            assert (each.exempt, each.severity) == (True, 3)
            assert each.transition == SINCE_AT


@of_each
def test_what_is_in_doubt_is_passed_on(model):
    """Of a pod that was not scraped yet that is each reason."""
    scraped, *others = model.pods
    told = shown(model.world(), scraped, doubts=(t.KV_CACHE,)).inconclusive
    by_pod = {str(ref): reasons for ref, reasons in told.items()}
    assert by_pod[f"Pod {scraped}"] == {model.reason(t.KV_CACHE)}
    for each in others:
        assert by_pod[f"Pod {each}"] == {model.reason(name) for name in NAMES}


@of_each
def test_a_pod_that_is_not_ready_is_the_same_object_in_both_findings(model):
    """Else it would not explain what its page says."""
    world = model.world({f"Pod {model.pods[0]}": {"status": {"conditions": {"Ready": "False X"}}}})
    found = shown(world, model.pods[0], t.ERROR_RATE).findings
    (of_page,) = [each for each in found if each.reason == model.reason(t.ERROR_RATE)]
    assert of_page.related in [each.related for each in found if each is not of_page]


@pytest.mark.parametrize("reason", [t.BACKLOG, t.REJECTED])
@pytest.mark.parametrize(
    "model", [each for each in MODELS if each.fewer], ids=lambda each: each.base
)
def test_what_more_replicas_will_relieve_waits_for_them(model, reason):
    """It neither begins nor ends while fewer are ready than wanted."""

    def told(world):
        return {each.reason for each in shown(world, model.pods[0], reason).findings}

    assert told(model.world()) == {model.reason(reason)}
    waits = model.world(model.fewer)
    assert model.reason(reason) not in told(waits)
    inconclusive = shown(waits, model.pods[0], reason).inconclusive
    assert model.reason(reason) in set().union(*inconclusive.values())


@pytest.mark.parametrize("base", [*(each.base for each in MODELS), "workloads"])
def test_a_change_of_a_pod_asks_again_about_its_model_alone(base):
    """Else each pass would cost all models."""
    world = Model(base, "", ()).world()
    _, before = evaluate_again(world.snapshot(at(0)), SETTINGS, Answered())
    places = [place for kind, place in world.objects if kind == "Pod" and "-gw-" not in place]
    for place in places:
        world.change({f"Pod {place}": {"status": {"conditions": {"Ready": "False X"}}}}, at(0))
        _, again = evaluate_again(world.snapshot(at(0)), SETTINGS, before)
        asked = [each for each, kept in before.answers.items() if again.answers[each] is not kept]
        assert [each.namespace for each in asked] == [place.partition("/")[0]], place
        before = again
