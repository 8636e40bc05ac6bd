"""What one tenant writes in its own namespace to be heard, or hidden behind, elsewhere."""

import os
from unittest import mock

from reporter.catalogue.resources import GATEWAYS
from reporter.evaluation import evaluate, evaluate_again
from reporter.kube.client import environment_proxy
from reporter.model.commands import commands_for
from reporter.model.report import ServingState, SubjectState
from reporter.model.subject import CLUSTER, Subject
from reporter.probes.reuse import Answered
from reporter.resolution.grace import SinglePass
from reporter.resolution.memory import Memory
from reporter.resolution.resolve import resolve
from reporter.sinks.own_metrics import STATE, subject_metrics
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from reporter.stacks.settings import FullEvaluationSettings
from tests.attacks.attack import Outcome, attack, attacks
from tests.unit.probes.building import (
    ALL_CRDS,
    at,
    condition,
    deployment,
    document,
    namespace,
    snapshot_of,
)
from tests.unit.sinks.page.reports import report
from tests.unit.stacks.kthena.probes.kthena import healthy as serving_model
from tests.unit.stacks.otterscale.probes.otterscale import modelservice

_PLACE = "tenant"
_GATEWAY = {"name": "gw", "namespace": "infra"}


def _asked(*docs):
    return evaluate(snapshot_of(namespace(_PLACE, managed=True), *docs), FullEvaluationSettings())


@attack("pods that name nodes that never were")
def _(_folder):
    labels = {"inferenceset.kaito.sh/created-by": "set", "kaito.sh/workspace": "set-w"}
    made = {"metadata": {"labels": labels}}
    said = _asked(
        document("Node", "real"),
        document("InferenceSet", "set", _PLACE, {"spec": {"replicas": 1}}),
        document("Workspace", "set-w", _PLACE, made),
        *(
            document(
                "Pod", f"pod-{number}", _PLACE, made,
                {"spec": {"nodeName": f"gpu-production-{number}"}, "status": {"phase": "Pending"}},
            )
            for number in range(20)
        ),
    )  # fmt: skip
    gone = [each for each in said.findings if each.reason == "clusterNodeNotReady"]
    return Outcome(held=not gone, figure=f"20 pods, {len(gone)} node(s) said to be gone")


@attack("routes that name a foreign Gateway, which never accepted them")
def _(_folder):
    refused = {"parentRef": _GATEWAY, "conditions": [condition("Accepted", "False")]}
    route = {"spec": {"parentRefs": [_GATEWAY]}, "status": {"parents": [refused]}}
    said = _asked(
        *(document("InferenceSet", f"s-{number}", _PLACE) for number in range(40)),
        *(document("HTTPRoute", f"s-{number}-route", _PLACE, route) for number in range(40)),
    )
    behind = sum(("infra", "gw") in each.entrances for each in said.serving)
    return Outcome(held=not behind, figure=f"{behind} of 40 models count as behind it")


@attack("HTTP_PROXY while the API server is on loopback")
def _(_folder):
    with mock.patch.dict(
        os.environ, {"HTTP_PROXY": "http://thief:1", "HTTPS_PROXY": "http://thief:1"}
    ):
        through = environment_proxy("https://127.0.0.1:6443")
    return Outcome(held=through is None, figure=f"the token goes through {through or 'no proxy'}")


@attack("a thousand models that do not serve, beside 100 series")
def _(_folder):
    states = [
        *(SubjectState(Subject(INFERENCESET_KIND, _PLACE, f"m-{number:04}"), ServingState.NOT_SERVING)
          for number in range(1000)),
        SubjectState(Subject(INFERENCESET_KIND, "quiet", "m"), ServingState.DEGRADED),
    ]  # fmt: skip
    series = next(
        each for each in subject_metrics(report(states=tuple(states)), 100) if each.name == STATE
    )
    others = sum(each.labels["subject_namespace"] == "quiet" for each in series.samples)
    return Outcome(held=others == 1, figure=f"{others} series of the other namespace, of 1")


_HEADERS = [{"headers": [{"name": "X-Gateway-Model-Name", "value": "m"}]}]
_POOL = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "p"}
_RULES = [{"matches": _HEADERS, "backendRefs": [_POOL]}]
_ROUTE = document(
    "HTTPRoute", "r", _PLACE, {"spec": {"parentRefs": [{"name": "gw"}], "rules": _RULES}}
)
_POLICY = {"spec": {"action": "CUSTOM", "provider": {"name": "apikey-ext-authz"}}}
_SCALED = {"metadata": {"annotations": {"scaledobject.kaito.sh/auto-provision": "true"}}}
_KIT = [
    _ROUTE,
    document("Gateway", "gw", _PLACE, {"spec": {"gatewayClassName": "istio"}}),
    document("EnvoyFilter", "bbr-ext-proc", _PLACE),
    document("EnvoyFilter", "apikey-ext-authz", _PLACE),
    document("AuthorizationPolicy", "p", _PLACE, _POLICY),
    document("APIKey", "k", _PLACE),
    document("InferenceSet", "s", _PLACE, _SCALED, {"spec": {"replicas": 1}}),
    document("Workspace", "w", _PLACE),
    modelservice(ns=_PLACE),
    document("InferenceService", "i", _PLACE),
    document("LLMInferenceService", "l", _PLACE),
]
_LACKS = {
    "gateways.gateway.networking.k8s.io",
    "inferencepools.inference.networking.k8s.io",
    "scaledobjects.keda.sh",
    "clustertriggerauthentications.keda.sh",
}


def _told(*docs, before=()):
    """Return the causes of the cluster layer in front of a model of another tenant, which serves.

    `before` is what the tenant had at an earlier pass.
    """
    others = [each for each in serving_model().values() if each["kind"] != "Namespace"]
    others.append(deployment("kthena-system", "kthena-controller-manager"))
    others += [namespace(_PLACE, managed=True), namespace("models")]
    settings = FullEvaluationSettings()
    earlier = snapshot_of(*others, *before, served=ALL_CRDS - _LACKS)
    _, answered = evaluate_again(earlier, settings, Answered())
    snapshot = snapshot_of(*others, *docs, served=ALL_CRDS - _LACKS)
    found, _ = evaluate_again(snapshot, settings, answered)
    looked = resolve(
        found, snapshot, Memory(), now=at(3600), settings=settings, single_pass=SinglePass()
    ).report  # fmt: skip
    assert any(each.state is ServingState.SERVING for each in looked.states)
    return [each for each in looked.findings if each.is_cause and each.subject == CLUSTER]


@attacks(
    {"a route that no parent accepted": [_ROUTE], "the whole kit of parts that are not there": _KIT}
)
def _(_folder, docs):
    told = _told(*docs)
    primary = [each.reason for each in told if each.primary]
    figure = f"{len(told)} cause(s) of the cluster, primary: {primary or 'none'}"
    return Outcome(held=not primary, figure=figure)


_IMAGE = {
    "spec": {"template": {"spec": {"containers": [{"name": "k", "image": "kedacore/keda:2"}]}}}
}
_DOWN, _UP = (deployment(_PLACE, "mine", _IMAGE, ready=number) for number in (0, 1))


@attacks(
    {
        "a Deployment with the image of a part that is not there": ([_DOWN], []),
        "one with such an image, which was there and is gone": ([], [_UP]),
    }
)
def _(_folder, row):
    docs, before = row
    told = _told(*docs, before=before)
    primary = [each.reason for each in told if each.primary]
    figure = f"{len(told)} cause(s) of the cluster, primary: {primary or 'none'}"
    return Outcome(held=not primary, figure=figure)


_FAKE = "a Deployment of a part's name in an unused candidate namespace, to a reporter that starts again"


@attacks({f"{_FAKE}, available": 1, f"{_FAKE}, at zero": 0})
def _(_folder, wanted):
    later = {"metadata": {"creationTimestamp": "2026-11-20T11:00:00Z"}}
    told = _told(
        namespace("kaito-system"),
        namespace("kaito-workspace"),
        deployment("kaito-system", "kaito-workspace", ready=0),
        deployment("kaito-workspace", "kaito-workspace", later, wanted=wanted, ready=wanted),
    )
    named = [str(each.related) for each in told if "kaito-system/kaito-workspace" in each.message]
    return Outcome(held=len(named) == 1, figure=f"the outage of {named or 'nobody'} is told")


_LONG = "x" * 100_000


@attacks(
    {
        "a name of a hundred thousand letters that is referred to": ("models", _LONG),
        "a namespace of a hundred thousand letters that is referred to": (_LONG, "gw"),
    }
)
def _(_folder, place):
    ref = GATEWAYS.ref_named(*place)
    commands = commands_for(ref, ())
    figure = f"{len(str(ref))} letters, {len(commands)} command(s)"
    return Outcome(held=len(str(ref)) < 600 and _LONG[:99] not in f"{commands}", figure=figure)
