"""A ModelService `models/qwen3` that serves, with all that its operator makes for it."""

import copy
import json

from reporter.metrics.samples.window import NONE
from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.manifests.wanted import wanted
from reporter.stacks.otterscale.probes import evaluate_modelservice
from reporter.stacks.otterscale.probes.scope import ModelServiceScope
from reporter.stacks.otterscale.reasons import MODELSERVICES
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import ALL
from tests.unit.probes.asking import scope
from tests.unit.probes.building import (
    CREATED,
    SINCE,
    Document,
    condition,
    deployment,
    document,
    merged,
    namespace,
    snapshot_of,
)
from tests.unit.stacks.otterscale.manifests.building import service as model_service

NS = "models"
NAME = "qwen3"
EPP = "qwen3-epp"
TITLE = f"ModelService {NS}/{NAME}"
SETTINGS = FullEvaluationSettings()
OPERATOR = OperatorSettings()
GATEWAY = {"namespace": "gateways", "name": "inference"}
SPEC = {
    "prefill": {},
    "routingProxy": {},
    "inferencePool": {"endpointPicker": {}},
    "httpRoute": {"gatewayRef": GATEWAY},
    "monitoring": {"podMonitor": {"enabled": True}},
}
IDLE = {"decode": {"replicas": 0}, "prefill": {"replicas": 0}}
"""Of a spec that wants no pods."""

READ = {each.kind for each in ALL}
ACCEPTED = [condition("Accepted", "True", "Accepted"), condition("ResolvedRefs", "True")]
PARENT = {"parentRef": GATEWAY, "controllerName": "istio.io/gateway-controller"}


def spec_of(**spec):
    """The spec, as the API has it."""
    base = {
        "model": {"name": "Qwen/Qwen3-0.6B", "image": "registry/qwen3:v1"},
        "engine": {},
        "accelerator": {"type": "nvidia"},
        "decode": {},
    }
    return {key: each for key, each in {**base, **SPEC, **spec}.items() if each is not None}


def status_of(spec, **fields):
    """What the operator writes once all pods are ready."""
    wants = {role: spec[role].get("replicas", 1) for role in ("decode", "prefill") if role in spec}
    counts = {
        f"{role}{what}": each for role, each in wants.items() for what in ("Ready", "Replicas")
    }
    message = f"All {sum(wants.values())} replicas are ready"
    return {
        "observedGeneration": 2,
        "phase": "Ready",
        **{key: each for key, each in counts.items() if each},
        "conditions": [condition("Ready", "True", "AllReplicasReady", message)],
        **fields,
    }


def modelservice(*patches: Document, name: str = NAME, ns: str = NS, **spec) -> Document:
    """The ModelService, with some fields of its spec set, or removed by None."""
    full = spec_of(**spec)
    return document(
        "ModelService", name, ns,
        {
            "apiVersion": "model.otterscale.io/v1alpha1",
            "metadata": {"generation": 2},
            "spec": full,
            "status": status_of(full),
        },
        *patches,
    )  # fmt: skip


def children(name: str = NAME, ns: str = NS, operator=OPERATOR, **spec) -> list[Document]:
    """What the operator makes, as far as it is read, with the status that others write."""
    service = model_service(name, ns, f"uid-{name}", **spec_of(**spec))
    made = [json.loads(json.dumps(each.document)) for each in wanted(service, operator)]
    return [_alive(each) for each in made if each["kind"] in READ]


def _alive(doc: Document) -> Document:
    doc["metadata"] |= {
        "uid": f"uid-{doc['kind']}-{doc['metadata']['name']}",
        "creationTimestamp": CREATED,
    }
    match doc["kind"]:
        case "Deployment":
            doc["metadata"]["generation"] = 1
            doc["status"] = rolled_out(doc["spec"]["replicas"])
        case "HTTPRoute" | "InferencePool":
            parent = (doc["spec"].get("parentRefs") or [GATEWAY])[0]
            doc["status"] = {"parents": [{**PARENT, "parentRef": parent, "conditions": ACCEPTED}]}
    return doc


def rolled_out(wanted_: int, ready: int | None = None) -> Document:
    """The status of a Deployment."""
    ready = wanted_ if ready is None else ready
    return {
        "observedGeneration": 1, "replicas": wanted_, "updatedReplicas": wanted_,
        "readyReplicas": ready, "availableReplicas": ready,
        "conditions": [condition("Available", "True" if ready >= wanted_ else "False"), condition("Progressing", "True", "NewReplicaSetAvailable")],
    }  # fmt: skip


def pods(docs: list[Document]) -> list[Document]:
    """One Ready pod for each replica of each Deployment."""
    return [
        pod(each, n)
        for each in docs
        if each["kind"] == "Deployment"
        for n in range(each["spec"]["replicas"])
    ]


def pod(deployment: Document, n: int = 0, *patches: Document) -> Document:
    """A running pod of a Deployment."""
    template = deployment["spec"]["template"]
    containers = template["spec"]["containers"]
    up = {"ready": True, "state": {"running": {"startedAt": SINCE}}}
    done = {"ready": True, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
    inits = template["spec"].get("initContainers", [])
    return document(
        "Pod", f"{deployment['metadata']['name']}-{n}", deployment["metadata"]["namespace"],
        {
            "metadata": {"labels": template["metadata"]["labels"]},
            "spec": {"containers": containers},
            "status": {
                "phase": "Running",
                "conditions": [condition(each, "True") for each in ("PodScheduled", "Initialized", "Ready")],
                "initContainerStatuses": [{"name": each["name"], **(up if each.get("restartPolicy") else done)} for each in inits],
                "containerStatuses": [{"name": each["name"], **up} for each in containers],
            },
        },
        *patches,
    )  # fmt: skip


def gateway(*patches: Document) -> Document:
    """The Gateway of the route."""
    conditions = [condition("Accepted", "True"), condition("Programmed", "True")]
    return document(
        "Gateway", GATEWAY["name"], GATEWAY["namespace"],
        {"spec": {"gatewayClassName": "istio"}, "status": {"conditions": conditions}}, *patches,
    )  # fmt: skip


def healthy(**spec) -> list[Document]:
    """All of it."""
    made = children(**spec)
    places = [namespace(NS), namespace("gateways"), namespace("llm-d"), gateway()]
    return [modelservice(**spec), *made, *pods(made), *places]


def changed(docs: list[Document], kind: str, name: str, *patches: Document) -> list[Document]:
    """Return `docs` with patches on top of one of them."""
    assert any(_is(each, kind, name) for each in docs)
    return [merged(each, *patches) if _is(each, kind, name) else each for each in docs]


def without(docs: list[Document], *gone: tuple[str, str]) -> list[Document]:
    """Return `docs` without some of them, by kind and name."""
    assert all(any(_is(each, *place) for each in docs) for place in gone)
    return [each for each in docs if not any(_is(each, *place) for place in gone)]


def _is(doc: Document, kind: str, name: str) -> bool:
    return doc["kind"] == kind and doc["metadata"]["name"] == name


def evaluation(docs, *, name=NAME, ns=NS, settings=SETTINGS, samples=NONE, **reading):
    """What is said about the ModelService."""
    snapshot = snapshot_of(*copy.deepcopy(docs), **reading)
    service = snapshot[MODELSERVICES].get(ns, name)
    of_service = ModelServiceScope.of(MODELSERVICES, service, scope(snapshot, settings, samples))
    return evaluate_modelservice(of_service)


def operator(*args: str):
    """The operator's Deployment, with these arguments."""
    container = {"name": "manager", "args": ["--leader-elect", *args]}
    template = {"spec": {"template": {"spec": {"containers": [container]}}}}
    return deployment("otterscale-system", "model-operator-controller-manager", template)


def found(docs, **how):
    """The findings, as reason and the object at fault."""
    findings = evaluation(docs, **how).findings
    return sorted(
        (each.reason.removeprefix("modelservice"), str(each.related)) for each in findings
    )


def reasons(docs, **how):
    """The reasons, each once, without their prefix."""
    return sorted({reason for reason, _ in found(docs, **how)})


def one(docs, reason, **how):
    """The only finding of a reason."""
    (finding,) = (
        each for each in evaluation(docs, **how).findings if each.reason == f"modelservice{reason}"
    )
    assert finding.message.startswith(TITLE)
    assert len(finding.message.encode()) <= 1024
    return finding
