"""An InferenceService `models/llm` that serves, in either mode, and patches that break it."""

from dataclasses import replace

from reporter.model.evidence import NO_EVIDENCE
from reporter.setting_types import BUDGETS, TimeBudget
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import evaluate_inferenceservices
from tests.unit.probes.building import Document, merged, namespace
from tests.unit.stacks.kserve.derived.building import (
    NS,
    STANDARD,
    UP,
    cluster,
    derived,
    has,
    inferenceservice,
    knative_service,
    predictor_pod,
    raw_deployment,
    revision,
    stored,
)

SETTINGS = FullEvaluationSettings()
STARTUP = BUDGETS[TimeBudget.MODEL_STARTUP]
URL: Document = {"status": {"url": "http://llm.example"}}
AVAILABLE = {
    "Available": "True MinimumReplicasAvailable",
    "Progressing": "True NewReplicaSetAvailable",
}


def settled(base: Document, *objects: Document) -> Document:
    """The InferenceService after KServe looked at these objects."""
    return stored(derived(base, *objects), base)


def on_knative(*patches: Document) -> dict[str, Document]:
    """All objects of one that serves revision v2, by a handle."""
    service = knative_service("v2, v2", "v2:100 L", {"status": {"url": "http://v2"}})
    part = {"latestRolledoutRevision": "v2", "previousRolledoutRevision": "v1"}
    before = {"status": {"components": {"predictor": part}}}
    pod = predictor_pod(of="v2", ready=True)
    base = inferenceservice(has(**UP), URL, before, *patches)
    return {
        "namespace": namespace(NS),
        "inferenceservice": settled(base, service, pod),
        "service": service,
        "pod": pod,
        "old": revision("v1"),
        "new": revision("v2"),
    }


def on_deployments(*patches: Document) -> dict[str, Document]:
    """All objects of one in Standard mode, by a handle."""
    deployment = raw_deployment(**AVAILABLE)
    pod = predictor_pod(ready=True)
    base = inferenceservice(STANDARD, has(**UP), URL, *patches)
    return {
        "namespace": namespace(NS),
        "inferenceservice": settled(base, deployment, pod),
        "deployment": deployment,
        "pod": pod,
    }


def seen(
    objects: dict[str, Document],
    *more: Document,
    unknown=(),
    evidence=NO_EVIDENCE,
    **changes: Document | None,
):
    """What is said of the objects, patched, taken away (None) or added to."""
    docs = dict(objects)
    for handle, patch in changes.items():
        if patch is None:
            del docs[handle]
        else:
            docs[handle] = merged(docs[handle], patch)
    snapshot = replace(cluster(*docs.values(), *more, unknown=unknown), evidence=evidence)
    return evaluate_inferenceservices(snapshot, SETTINGS)


def reasons(evaluation) -> list[str]:
    """The reasons of an evaluation, without the prefix that all have."""
    return sorted({each.reason.removeprefix("inferenceservice") for each in evaluation.findings})


def only(evaluation, reason: str):
    """The one finding of a reason."""
    (found,) = [each for each in evaluation.findings if each.reason == reason]
    return found


def rerouted(revisions: str, entries: str, **statuses: str) -> Document:
    """A patch of the Knative Service: its revisions, traffic and conditions."""
    gone = {"latestReadyRevisionName": None, "traffic": None}
    return {"status": gone | knative_service(revisions, entries, **statuses)["status"]}


def percent(value: int) -> Document:
    """A patch of the predictor's canary percent."""
    return {"spec": {"predictor": {"canaryTrafficPercent": value}}}


def recorded(rolled_out: str, previous: str) -> Document:
    """A patch of what was rolled out on record."""
    part = {"latestRolledoutRevision": rolled_out, "previousRolledoutRevision": previous or None}
    return {"status": {"components": {"predictor": part}}}


def as_propagated(objects: dict[str, Document], **changes: Document) -> dict[str, Document]:
    """The objects patched, and the status that KServe writes then."""
    docs = {key: merged(doc, changes.get(key, {})) for key, doc in objects.items()}
    rest = [doc for key, doc in docs.items() if key != "inferenceservice"]
    return docs | {"inferenceservice": settled(docs["inferenceservice"], *rest)}
