"""OtterScale: ModelServices, with their operator's Deployments, endpoint pickers and routes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from reporter.catalogue import resources as r
from reporter.model.stack import Controller, RequiredKind, ScrapedPods, StackWords
from reporter.stacks.otterscale import needs as n
from reporter.stacks.otterscale.pickers import PICKERS
from reporter.stacks.otterscale.reasons import CLUSTER_OTTERSCALE, CLUSTER_REASONS, PODS, REASONS
from reporter.stacks.otterscale.resources import (
    MODELSERVICE_KIND,
    MODELSERVICES,
    PODMONITORS,
    RESOURCES,
    SERVICEMONITORS,
    STACK,
)
from reporter.stacks.otterscale.suppression import SUPPRESSION
from reporter.stacks.stack import Command, Stack

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes
    from reporter.settings import EvaluationSettings

_CONFIGURED: Final = ("otterscale_deployment", "otterscale_namespace")


def _settings() -> "tuple[type[EvaluationSettings], ...]":
    from reporter.stacks.otterscale.settings import OtterscaleSettings

    return (OtterscaleSettings,)


def _probes() -> "StackProbes":
    from reporter.stacks.otterscale.probes import PROBES

    return PROBES


def _render(argv: Sequence[str]) -> int:
    from reporter.stacks.otterscale.render.command import main

    return main(argv)


OTTERSCALE: Final = Stack(
    name=STACK,
    project="OtterScale",
    resources=RESOURCES,
    cluster_reasons=CLUSTER_REASONS,
    reasons=REASONS,
    suppression=SUPPRESSION,
    controllers=(
        Controller(
            reason=CLUSTER_OTTERSCALE,
            deployment="otterscale_deployment",
            namespaces="otterscale_namespace",
            needs=n.OF_OTTERSCALE,
            governs=True,
        ),
    ),
    required=(
        RequiredKind(
            crd=MODELSERVICES.crd_name,
            owner="OtterScale's model operator",
            settings=_CONFIGURED,
            needs=(n.DEPLOYMENTS_OF_MODELSERVICES,),
            of=(STACK,),
        ),
        RequiredKind(
            crd=r.GATEWAYS.crd_name,
            owner="Gateway API",
            settings=_CONFIGURED,
            needs=(n.ROUTED_MODELSERVICES,),
            only_needed=True,
        ),
        RequiredKind(
            crd=r.HTTPROUTES.crd_name,
            owner="Gateway API",
            settings=_CONFIGURED,
            needs=(n.ROUTED_MODELSERVICES,),
            only_needed=True,
        ),
        RequiredKind(
            crd=r.INFERENCEPOOLS.crd_name,
            owner="Gateway API Inference Extension",
            settings=_CONFIGURED,
            needs=n.OF_OTTERSCALE,
            only_needed=True,
        ),
        RequiredKind(
            crd=PODMONITORS.crd_name,
            owner="the Prometheus operator",
            settings=_CONFIGURED,
            needs=(n.MONITORED_MODELSERVICES,),
            only_needed=True,
        ),
        RequiredKind(
            crd=SERVICEMONITORS.crd_name,
            owner="the Prometheus operator",
            settings=_CONFIGURED,
            needs=(n.MODELSERVICES_WITH_MONITORED_PICKERS,),
            only_needed=True,
        ),
    ),
    scraped=ScrapedPods(
        kind=MODELSERVICE_KIND,
        label="llm-d.ai/model",
        labels={"llm-d.ai/inferenceServing": "true"},
        container="vllm",
        port="http",
        not_ready=PODS,
    ),
    pickers=PICKERS,
    words=StackWords(
        derived="the objects that should exist (images, tracing and tokens with "
        "`--otterscale-operator-flags`), and phase, counters and Ready of the status",
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
