"""OtterScale: ModelServices, with their operator's Deployments, endpoint pickers and routes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from reporter.catalogue import resources as r
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.stack import Controller, Need, RequiredKind, ScrapedPods, StackWords, need
from reporter.stacks.otterscale import reasons
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.stack import Command, Stack

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes
    from reporter.settings import EvaluationSettings


OF_OTTERSCALE: Final[tuple[Need, ...]] = (
    need(
        reasons.MODELSERVICES,
        "ModelServices",
        evidence="the model operator makes Deployments, an endpoint picker and an InferencePool "
        "for each (otterscale/model-operator)",
    ),
)
ROUTED_MODELSERVICES: Final = need(
    reasons.MODELSERVICES,
    "ModelServices with spec.httpRoute",
    evidence="the model operator makes an HTTPRoute to the Gateway that it names "
    "(otterscale/model-operator)",
    shows=lambda service, _: service.spec.http_route is not None,
)
MONITORED_MODELSERVICES: Final = need(
    reasons.MODELSERVICES,
    "ModelServices whose spec.monitoring.podMonitor is not off",
    evidence="the model operator makes PodMonitors, by default too, and ends in an error where it "
    "cannot (otterscale/model-operator)",
    shows=lambda service, _: service.has_pod_monitors,
)
MODELSERVICES_WITH_MONITORED_PICKERS: Final = need(
    reasons.MODELSERVICES,
    "ModelServices with spec.inferencePool and spec.monitoring.podMonitor.enabled",
    evidence="the model operator makes a ServiceMonitor for the endpoint picker "
    "(otterscale/model-operator)",
    shows=lambda service, _: service.has_service_monitor,
)
DEPLOYMENTS_OF_MODELSERVICES: Final = need(
    r.DEPLOYMENTS,
    f"Deployments with {names.MANAGED_BY}: {names.OPERATOR}",
    evidence="the model operator makes them for a ModelService (otterscale/model-operator)",
    shows=lambda deployment, _: deployment.metadata.label(names.MANAGED_BY) == names.OPERATOR,
)


_USED: Final[tuple[tuple[Resource[KubeObject], str, tuple[Need, ...]], ...]] = (
    (r.GATEWAYS, "Gateway API", (ROUTED_MODELSERVICES,)),
    (r.HTTPROUTES, "Gateway API", (ROUTED_MODELSERVICES,)),
    (r.INFERENCEPOOLS, "Gateway API Inference Extension", OF_OTTERSCALE),
    (reasons.PODMONITORS, "the Prometheus operator", (MONITORED_MODELSERVICES,)),
    (reasons.SERVICEMONITORS, "the Prometheus operator", (MODELSERVICES_WITH_MONITORED_PICKERS,)),
)
"""Kinds that count as missing only if a ModelService uses them, with owners and users."""


def _settings() -> "tuple[type[EvaluationSettings], ...]":
    from reporter.stacks.otterscale.settings import OtterscaleSettings

    return (OtterscaleSettings,)


def _probes() -> "StackProbes":
    from reporter.stacks.otterscale.probes import PROBES

    return PROBES


def _render(argv: Sequence[str]) -> int:
    from reporter.stacks.otterscale.render import main

    return main(argv)


OTTERSCALE: Final = Stack(
    name=reasons.STACK,
    project="OtterScale",
    resources=reasons.RESOURCES,
    cluster_reasons=reasons.CLUSTER_REASONS,
    reasons=reasons.REASONS,
    suppression=reasons.SUPPRESSION,
    controllers=(
        Controller(
            reason=reasons.CLUSTER_OTTERSCALE,
            names=reasons.OPERATOR_NAMES,
            home=reasons.OPERATOR_HOME,
            images=("model-operator",),
            observes=True,
            needs=OF_OTTERSCALE,
            governs=True,
        ),
    ),
    required=(
        RequiredKind(
            crd=reasons.MODELSERVICES.crd_name,
            owner="OtterScale's model operator",
            needs=(DEPLOYMENTS_OF_MODELSERVICES,),
            of=(reasons.STACK,),
        ),
        *(
            RequiredKind(
                crd=resource.crd_name,
                owner=owner,
                needs=needs,
                only_needed=True,
            )
            for resource, owner, needs in _USED
        ),
    ),
    scraped=ScrapedPods(
        kind=reasons.MODELSERVICE_KIND,
        label="llm-d.ai/model",
        labels={"llm-d.ai/inferenceServing": "true"},
        container="vllm",
        port="http",
        not_ready=reasons.PODS,
    ),
    pickers=reasons.PICKERS,
    words=StackWords(
        derived="the objects that should exist (images, tracing and tokens with "
        "the operator's arguments), and phase, counters and Ready of the status",
        required="Deployment `model-operator-controller-manager`; the kinds of Gateway API, its "
        "Inference Extension, Istio and the Prometheus operator as far as a ModelService uses them",
    ),
    settings=_settings,
    probes=_probes,
    commands=(
        Command(
            name="render",
            summary="what OtterScale's operator would create for a ModelService, as manifests",
            main=_render,
        ),
    ),
)
