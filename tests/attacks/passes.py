"""One tenant's objects, made so that a pass looks at all of them for each: twice as many may cost twice as much."""

import sys
import time
from collections import Counter
from dataclasses import replace
from itertools import chain

import msgspec

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES, PODS, WORKLOADS
from reporter.diagnosis.queues import why_in_line
from reporter.evaluation import evaluate, evaluate_again
from reporter.model.objects import MUTE, MUTE_UNTIL, KueueWorkload
from reporter.probes.reuse import Answered
from reporter.resolution.memory import Memory
from reporter.resolution.resolve import resolve
from reporter.snapshot.snapshot import ResourceState, Served
from reporter.snapshot.table import table_of
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings
from reporter.workload.owners import owning_subject
from tests.attacks.attack import Outcome, at_most, attack, attacks, growth, held
from tests.unit.probes.building import at, deployment, document, namespace, pod, snapshot_of

_PLACE = "tenant"
_FEW = 40
_ROUTER = {
    "app.kubernetes.io/part-of": "llminferenceservice",
    "app.kubernetes.io/component": "llminferenceservice-router",
}


def _set(number: int, picker: str):
    """An InferenceSet with its pool and a route that is found by leading to the pool alone."""
    name, pool = f"set-{number}", f"set-{number}-inferencepool"
    leads = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": pool}
    refers = {"endpointPickerRef": {"name": picker}, "selector": {"matchLabels": {"a": "b"}}}
    yield document("InferenceSet", name, _PLACE, {"spec": {"replicas": 1}})
    yield document("InferencePool", pool, _PLACE, {"spec": refers})
    route = {"spec": {"parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [leads]}]}}
    yield document("HTTPRoute", f"way-{number}", _PLACE, route)


def _selecting_all_pods(number: int):
    yield from _set(number, "none")
    selects = {"spec": {"selector": {"matchLabels": {"app": "all"}}}}
    yield document("InferencePool", f"set-{number}-inferencepool", _PLACE, selects)
    yield pod(_PLACE, f"pod-{number}", "all", ready=False)


def _behind_a_service(number: int):
    yield from _set(number, f"svc-{number}")
    labels = {"app": "all", f"own-{number % 7}": "x"}
    yield document("Service", f"svc-{number}", _PLACE, {"spec": {"selector": labels}})
    template = {"spec": {"template": {"metadata": {"labels": {"app": "all"}}}}}
    yield deployment(_PLACE, f"plain-{number}", template)


def _broken_pickers(number: int):
    yield from _set(number, f"picker-{number}")
    selector = {"spec": {"selector": {"matchLabels": {"app": "all"}}}}
    yield deployment(_PLACE, f"picker-{number}", selector, ready=0)
    yield pod(_PLACE, f"pod-{number}", "all", ready=False)


def _selectors_of_their_own(number: int):
    yield from _set(number, f"picker-{number}")
    labels = {"metadata": {"labels": {f"key-{number}": "x"}}}
    yield deployment(
        _PLACE,
        f"picker-{number}",
        {"spec": {"selector": {"matchLabels": {f"key-{number}": "x"}}}},
        ready=0,
    )
    yield pod(_PLACE, f"pod-{number}", "all", labels, ready=False)


def _of_one_name(number: int):
    spec = {"model": {"name": "same"}, "router": {"route": {"group": f"g{number % 3}"}}}
    yield document("LLMInferenceService", f"llm-{number}", _PLACE, {"spec": spec})
    labels = {"labels": _ROUTER | {"app.kubernetes.io/name": f"llm-{number}"}}
    yield document("HTTPRoute", f"llm-{number}-route", _PLACE, {"metadata": labels})


def _pools_of_others(number: int):
    spec = {
        "model": {"name": f"m{number}"},
        "router": {"scheduler": {"pool": {"ref": {"name": "p"}}}},
    }
    yield document("LLMInferenceService", f"llm-{number}", _PLACE, {"spec": spec})
    yield document("InferencePool", "p", _PLACE)
    yield document("HTTPRoute", f"other-{number}", _PLACE, {"spec": {"rules": [{}]}})


def _workers(number: int):
    annotations = {"metadata": {"annotations": {"serving.kserve.io/deploymentMode": "Standard"}}}
    predictor = {"predictor": {"model": {"modelFormat": {"name": "m"}}, "workerSpec": {}}}
    isvc = f"isvc-{number}"
    yield document("InferenceService", isvc, _PLACE, annotations, {"spec": predictor})
    yield deployment(_PLACE, f"{isvc}-predictor")
    yield deployment(_PLACE, f"{isvc}-predictor-worker")


def _engines(number: int):
    labels = {"app": "all", "helm-release-name": "x"}
    engine = {"metadata": {"labels": labels}, "spec": {"containers": [_container("vllm")]}}
    selects = {"selector": {"matchLabels": labels}}
    yield deployment(_PLACE, f"engine-{number}", {"spec": {**selects, "template": engine}}, ready=0)
    router = {
        "metadata": {"labels": labels},
        "spec": {"containers": [_container("router-container")]},
    }
    yield deployment(_PLACE, f"router-{number}", {"spec": {"template": router}}, ready=0)
    yield pod(_PLACE, f"pod-{number}", "all", {"metadata": {"labels": labels}}, ready=False)
    yield document("InferencePool", f"pool-{number}", _PLACE, {"spec": selects})
    target = {"spec": {"scaleTargetRef": {"name": "engine-0"}}}
    yield document("ScaledObject", f"scaler-{number}", _PLACE, target)


def _container(name: str):
    return {"name": name, "image": f"example/{name}:v1"}


def _annotated(number: int, mute: str, until: str = "2026-12-01T00:00:00Z"):
    annotations = {MUTE: mute, MUTE_UNTIL: until}
    yield document("HTTPRoute", f"r-{number}", _PLACE, {"metadata": {"annotations": annotations}})


_UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/50 nodes are available: 50 node(s) didn't match Pod's node affinity/selector.",
}


def _waiting(number: int, spec):
    """A pod of a set that no node takes, beside the set and the nodes."""
    if number == 0:
        made = {"metadata": {"labels": {"inferenceset.kaito.sh/created-by": "set"}}}
        yield document("InferenceSet", "set", _PLACE, {"spec": {"replicas": 1}})
        yield document("Workspace", "w", _PLACE, made)
        yield from (document("Node", f"node-{each}") for each in range(50))
    labels = {"labels": {"inferenceset.kaito.sh/created-by": "set", "kaito.sh/workspace": "w"}}
    status = {"phase": "Pending", "conditions": [_UNSCHEDULABLE]}
    yield document(
        "Pod", f"pod-{number}", _PLACE, {"metadata": labels, "spec": spec, "status": status}
    )


def _affine(number: int):
    labels = ({"key": f"{number}-{each}", "operator": "Exists"} for each in range(500))
    terms = {"nodeSelectorTerms": [{"matchExpressions": [each]} for each in labels]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    yield from _waiting(number, {"affinity": {"nodeAffinity": required}})


def _selective(number: int):
    return _waiting(number, {"nodeSelector": {f"{number}-{each}": "x" for each in range(500)}})


_LONG = {
    "a mute of a thousand names": (lambda number: _annotated(number, f"{number}x," * 1_300), 50),
    "a mute of commas": (lambda number: _annotated(number, f"{number}" + "," * 8_000), 50),
    "a mute until a text": (lambda number: _annotated(number, "x", f"{number}" + "é " * 4_000), 50),
    "an affinity to nodes of 500 terms": (_affine, 1_000),
    "a selector of nodes of 500 labels": (_selective, 1_000),
}
"""Objects with much to read, and the microseconds of a pass from nothing that each may take: many times as much
if it is read whole, or again for each node.
"""


@attacks({f"{each} in each object": row for each, row in _LONG.items()})
def _(_folder, row):
    make, most = row
    count = 40_000 // most
    snapshot = snapshot_of(namespace(_PLACE, managed=True), *chain(*map(make, range(count))))
    settings = FullEvaluationSettings()
    took = []
    for _ in range(3):
        before = time.process_time()
        said = evaluate(snapshot, settings)
        resolve(said, snapshot, Memory(), now=at(3600), settings=settings)
        took.append((time.process_time() - before) / count * 1e6)
    return Outcome(held=min(took) < most, figure=f"{min(took):.0f} µs for each of {count:,}")


@attacks(
    {
        "plain workloads that select each other's pods": _engines,
        "routes that are found by their pools": lambda number: _set(number, "none"),
        "pools that select all pods": _selecting_all_pods,
        "endpoint pickers behind Services": _behind_a_service,
        "endpoint pickers that select all pods": _broken_pickers,
        "a label of its own in each selector": _selectors_of_their_own,
        "LLMInferenceServices of one model": _of_one_name,
        "LLMInferenceServices that use one pool": _pools_of_others,
        "InferenceServices with workers": _workers,
    }
)
def _(_folder, make):
    _work(make, 1)  # imports, and what is compiled once
    few, many = (_work(make, count) for count in (_FEW, 2 * _FEW))
    outcomes = [
        f"{what} {few[what]:,} to {many[what]:,} calls (x{many[what] / few[what]:.2f})"
        for what in few
    ]
    is_held = all(many[what] < 2.3 * few[what] for what in few)
    return Outcome(held=is_held, figure=f"{_FEW} to {2 * _FEW}: {', '.join(outcomes)}")


def _work(make, count: int) -> Counter[str]:
    """Count the calls of a pass, and of the next one after one of its routes or Deployments was changed."""
    docs = [namespace(_PLACE, managed=True), *chain.from_iterable(map(make, range(count)))]
    before = snapshot_of(*docs)
    resource = HTTPROUTES if len(before[HTTPROUTES]) else DEPLOYMENTS
    first, *others = before[resource]
    metadata = msgspec.structs.replace(first.metadata, labels={"changed": "yes"})
    changed = table_of([msgspec.structs.replace(first, metadata=metadata), *others])
    after = replace(before, tables={**before.tables, resource: changed})
    settings, calls = FullEvaluationSettings(), Counter[str]()
    _, answered = _counted(calls, "a pass", lambda: evaluate_again(before, settings, Answered()))
    _counted(calls, "one object changed", lambda: evaluate_again(after, settings, answered))
    return calls


def _counted(calls, what, work):
    def count(*_):
        calls[what] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return work()
    finally:
        sys.setprofile(before)


@attack("an object that owns itself a hundred times")
def _(_folder):
    itself = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "name": "r",
        "uid": "uid-r",
    }
    route = document("HTTPRoute", "r", _PLACE, {"metadata": {"ownerReferences": [itself] * 100}})
    snapshot = snapshot_of(route)
    obj = snapshot[HTTPROUTES].get(_PLACE, "r")
    before = time.process_time()
    with at_most(3):
        owning_subject(HTTPROUTES, obj, INFERENCESET_KIND, snapshot=snapshot, catalogue=BUILT_IN)
    return held(f"{(time.process_time() - before) * 1e3:.0f} ms")


@attack("pods that wait for Kueue, beside as many Workloads of others")
def _(_folder):
    gates = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    pods = [document("Pod", f"p-{number}", _PLACE, {"spec": gates}) for number in range(1_600)]

    def work(count):
        snapshot = snapshot_of(*pods[:count])
        metadata = {
            "namespace": _PLACE,
            "ownerReferences": [{"kind": "Pod", "name": "x", "uid": "x"}],
        }
        made = [{"metadata": {**metadata, "name": f"k-{number}"}} for number in range(count)]
        tables = {
            **snapshot.tables,
            WORKLOADS: table_of(msgspec.convert(made, list[KueueWorkload])),
        }
        states = {**snapshot.states, WORKLOADS: ResourceState(Served.SERVED)}

        def ask():
            whole = replace(snapshot, tables=tables, states=states)
            return [why_in_line(each, whole) for each in whole[PODS]]

        return ask

    return growth(work, 200)
