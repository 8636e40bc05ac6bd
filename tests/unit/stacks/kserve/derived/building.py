"""An InferenceService `models/llm`, what KServe and Knative make for it, and a short notation.

A traffic entry is `name:percent` and a flag: `v2:20 L` follows the latest ready revision, `v1:80 -`
does not, `v2:100 ?` has no flag, and `v2:~ L` has no percent. C and R are the latest created and
the latest ready revision, lr and pr the latest and the previous rolled-out one; `0` and `-` are
none.
"""

from collections.abc import Iterable

import msgspec

from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kserve.derived.derive import derive
from reporter.stacks.kserve.derived.facts import facts_of
from reporter.stacks.kserve.objects import (
    ComponentStatus,
    InferenceService,
    KnativeService,
    KnativeServiceStatus,
    TrafficEntry,
)
from reporter.stacks.kserve.reasons import INFERENCESERVICES
from tests.unit.probes.building import (
    ALL_CRDS,
    FORBIDDEN,
    SINCE,
    Document,
    condition,
    document,
    merged,
    resource_of,
    snapshot_of,
)

NS = "models"
NAME = "llm"
PREDICTOR = f"{NAME}-predictor"
OF_SERVICE = {"serving.kserve.io/inferenceservice": NAME}
SERVING = "serving.knative.dev/v1"
FLAGS = {"L": True, "-": False, "?": None}


def entry(text: str) -> TrafficEntry:
    """A traffic entry in short: `v2:20 L`."""
    target, _, flag = text.strip().partition(" ")
    name, _, percent = target.partition(":")
    return TrafficEntry(
        revision_name=name,
        latest_revision=FLAGS[flag],
        percent=None if percent == "~" else int(percent),
    )


def traffic(text: str) -> tuple[TrafficEntry, ...]:
    """Traffic entries in short, with commas between them."""
    return tuple(entry(each) for each in text.split(",") if each.strip())


def blank(text: str) -> str:
    """The name of a revision in short, empty for `0` and `-`."""
    return "" if text in ("0", "-") else text


def pair(text: str) -> tuple[str, str]:
    """Two names: `v2, v1`, `v1, 0`."""
    one, _, other = text.partition(",")
    return blank(one.strip()), blank(other.strip())


def routed(revisions: str, entries: str, **more: object) -> KnativeServiceStatus:
    """The status of a Knative Service: `C, R` and traffic in short."""
    created, ready = pair(revisions)
    return KnativeServiceStatus(
        latest_created_revision_name=created,
        latest_ready_revision_name=ready,
        traffic=traffic(entries) or None,
        **more,
    )


def component(history: str, revisions: str = "0, 0", entries: str = "") -> ComponentStatus:
    """The status of a component: `lr, pr`, `C, R` and traffic in short."""
    created, ready = pair(revisions)
    rolled_out, previous = pair(history)
    return ComponentStatus(
        latest_created_revision=created,
        latest_ready_revision=ready,
        latest_rolledout_revision=rolled_out,
        previous_rolledout_revision=previous,
        traffic=traffic(entries) or None,
    )


def conditions(**statuses: str) -> list[Document]:
    """Conditions by type; `False RevisionFailed` has a reason, `False RevisionFailed: text` a text."""
    found = []
    for type_, text in statuses.items():
        status, _, rest = text.partition(" ")
        reason, _, message = rest.partition(": ")
        found.append(condition(type_, status, reason, message))
    return found


def has(**statuses: str) -> Document:
    """A patch that replaces the conditions of a status."""
    return {"status": {"conditions": conditions(**statuses)}}


def inferenceservice(*patches: Document, name: str = NAME) -> Document:
    """An InferenceService in Knative mode that nothing has been said about yet."""
    base = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "metadata": {"generation": 7},
        "spec": {"predictor": {"model": {"modelFormat": {"name": "huggingface"}}}},
        "status": {"deploymentMode": "Knative"},
    }
    return document("InferenceService", name, NS, base, *patches)


def annotated(**values: str) -> Document:
    """A patch of annotations of KServe's group."""
    return {"metadata": {"annotations": {f"serving.kserve.io/{k}": v for k, v in values.items()}}}


STANDARD: Document = {"status": {"deploymentMode": "Standard"}}
TRANSFORMED: Document = {"spec": {"transformer": {}}}
UP = {"PredictorReady": "True", "IngressReady": "True", "Ready": "True"}
KNATIVE_UP = {"Ready": "True", "RoutesReady": "True", "ConfigurationsReady": "True"}


def knative_service(
    revisions: str, entries: str, *patches: Document, component: str = "predictor", **statuses: str
) -> Document:
    """A Knative Service: `C, R`, traffic in short, and conditions by type."""
    status = msgspec.to_builtins(routed(revisions, entries, observed_generation=3))
    status["conditions"] = conditions(**(KNATIVE_UP | statuses))
    return document(
        "Service", f"{NAME}-{component}", NS,
        {"apiVersion": SERVING, "metadata": {"labels": OF_SERVICE}},
        {"status": {key: value for key, value in status.items() if value not in (None, "")}},
        *patches,
    )  # fmt: skip


def revision(name: str, *patches: Document, **statuses: str) -> Document:
    """A Knative Revision of the predictor."""
    return document(
        "Revision", name, NS,
        {
            "apiVersion": SERVING,
            "metadata": {"labels": {**OF_SERVICE, "serving.knative.dev/service": PREDICTOR}},
            "status": {"conditions": conditions(**({"Ready": "True"} | statuses))},
        },
        *patches,
    )  # fmt: skip


def raw_deployment(*patches: Document, name: str = PREDICTOR, **statuses: str) -> Document:
    """A Deployment in Standard mode, with conditions by type."""
    return document(
        "Deployment", name, NS,
        {
            "metadata": {"labels": OF_SERVICE, "generation": 4},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": f"isvc.{name}"}}},
            "status": {
                "observedGeneration": 4, "replicas": 1, "readyReplicas": 1, "availableReplicas": 1,
                "conditions": conditions(**statuses),
            },
        },
        *patches,
    )  # fmt: skip


RUNNING: Document = {"running": {"startedAt": SINCE}}


def ended(reason: str, code: int = 1, message: str = "") -> Document:
    """The state of a container that ended."""
    return {"terminated": {"reason": reason, "exitCode": code, "message": message}}


def waits(reason: str) -> Document:
    """The state of a container that waits."""
    return {"waiting": {"reason": reason}}


def container(name: str, state: Document, last: Document | None = None, *, ready: bool = False):
    """The status of a container."""
    status = {"name": name, "ready": ready, "restartCount": 0, "state": state}
    return status if last is None else {**status, "lastState": last}


def predictor_pod(
    *patches: Document,
    name: str = "pod-a",
    of: str = "v1",
    serving: Document | None = None,
    storage: Document | None = None,
    ready: bool = False,
) -> Document:
    """A pod of the predictor: of revision `of`, and of the Deployment in Standard mode."""
    status: Document = {
        "phase": "Running",
        "conditions": [condition("Ready", "True" if ready else "False")],
        "containerStatuses": [serving or container("kserve-container", RUNNING, ready=ready)],
    }
    if storage is not None:
        status["initContainerStatuses"] = [storage]
    labels = {**OF_SERVICE, "serving.knative.dev/revision": of, "app": f"isvc.{PREDICTOR}"}
    return document(
        "Pod", name, NS,
        {"metadata": {"labels": labels}, "status": status},
        {"spec": {"containers": [{"name": "kserve-container"}]}},
        *patches,
    )  # fmt: skip


def typed(doc: Document) -> KubeObject:
    """A document as the struct of its resource."""
    return msgspec.convert(doc, resource_of(doc).type, strict=True)


def typed_service(*args: object, **more: object) -> KnativeService:
    """A Knative Service as a struct."""
    found = typed(knative_service(*args, **more))
    assert isinstance(found, KnativeService)
    return found


def cluster(
    *docs: Document,
    unknown: Iterable[Resource[KubeObject]] = (),
    absent: Iterable[Resource[KubeObject]] = (),
) -> Snapshot:
    """A snapshot of a live cluster that holds these objects and serves all that is not absent."""
    served = ALL_CRDS - {each.crd_name for each in absent}
    return snapshot_of(*docs, served=served, unknown=dict.fromkeys(unknown, FORBIDDEN))


def the_service(snapshot: Snapshot, name: str = NAME) -> InferenceService:
    """The InferenceService of a snapshot."""
    found = snapshot[INFERENCESERVICES].get(NS, name)
    assert found is not None
    return found


def derived(*docs: Document, **how: Iterable[Resource[KubeObject]]):
    """What is derived for `models/llm` in a cluster of these objects."""
    snapshot = cluster(*docs, **how)
    return derive(facts_of(the_service(snapshot), snapshot))


def statuses(derivation) -> dict[str, str]:
    """The conditions of a derived status: `True`, or `False RevisionFailed`."""
    return {
        each["type"]: f"{each['status']} {each.get('reason', '')}".strip()
        for each in derivation.status["conditions"]
    }


def predictor(derivation) -> dict[str, object]:
    """The predictor's part of a derived status."""
    return derivation.status["components"]["predictor"]


def history(derivation) -> tuple[str, str]:
    """lr and pr of the predictor, as derived."""
    part = predictor(derivation)
    return part.get("latestRolledoutRevision", ""), part.get("previousRolledoutRevision", "")


def model(derivation) -> tuple[str, str, str]:
    """Active state, target state and transition of a derived model status."""
    status = derivation.status.get("modelStatus", {})
    states = status.get("states", {})
    return (
        states.get("activeModelState", ""),
        states.get("targetModelState", ""),
        status.get("transitionStatus", ""),
    )


def stored(derivation, *patches: Document) -> Document:
    """The InferenceService with a derived status written back to it, times filled in."""
    stamped = [
        {"lastTransitionTime": SINCE, **each} for each in derivation.status.get("conditions", [])
    ]
    status = {**derivation.status, "conditions": stamped}
    return {**merged(inferenceservice(), *patches), "status": status}
