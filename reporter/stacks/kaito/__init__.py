"""KAITO: InferenceSets and the Workspaces that they are made of."""

from typing import TYPE_CHECKING, Final

from reporter.catalogue import needs as shared
from reporter.catalogue import resources as r
from reporter.model.stack import Controller, RequiredKind, ScrapedPods, StackWords
from reporter.stacks.kaito import needs as n
from reporter.stacks.kaito import reasons as k
from reporter.stacks.kaito.pickers import PICKERS
from reporter.stacks.kaito.resources import (
    INFERENCESET_KIND,
    INFERENCESETS,
    MADE_WITH,
    RESOURCES,
    STACK,
    WORKSPACES,
)
from reporter.stacks.kaito.suppression import SUPPRESSION
from reporter.stacks.stack import Stack

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes
    from reporter.settings import EvaluationSettings

KEDA: Final = "keda"
KEDA_SCALER: Final = "keda-scaler"
NODE_PROVISIONER: Final = "node-provisioner"

_KEDA: Final = ("keda-operator", "keda-operator-metrics-apiserver")
"""Constants of KEDA's chart and add-on; its admission webhooks are not probed."""

_CONFIGURED: Final = ("kaito_deployment", "kaito_namespace")
_WITH_KEDA: Final = ("keda_namespace",)


def _settings() -> "tuple[type[EvaluationSettings], ...]":
    from reporter.stacks.kaito.settings import KaitoSettings

    return (KaitoSettings,)


def _probes() -> "StackProbes":
    from reporter.stacks.kaito.probes import PROBES

    return PROBES


KAITO: Final = Stack(
    name=STACK,
    project="KAITO",
    expected=True,
    resources=RESOURCES,
    cluster_reasons=k.CLUSTER_REASONS,
    reasons=k.REASONS,
    suppression=SUPPRESSION,
    controllers=(
        Controller(
            reason=k.CLUSTER_KAITO,
            deployment="kaito_deployment",
            namespaces="kaito_namespace",
            needs=n.OF_KAITO,
            governs=True,
        ),
        Controller(
            reason=k.CLUSTER_NODE_PROVISIONER,
            part=NODE_PROVISIONER,
            deployment="node_provisioner_name",
            namespaces="node_provisioner_namespace",
            needs=(n.PROVISIONED_WORKSPACES,),
            governs=True,
            with_stack=False,
        ),
        Controller(
            reason=k.CLUSTER_KEDA,
            part=KEDA,
            names=_KEDA,
            namespaces="keda_namespace",
            needs=n.OF_KEDA,
            with_stack=False,
        ),
        Controller(
            reason=k.CLUSTER_KEDA_SCALER,
            part=KEDA_SCALER,
            deployment="keda_scaler_deployment",
            namespaces="keda_scaler_namespace",
            needs=(n.SCALED_INFERENCESETS,),
            with_stack=False,
            reads_pods=True,
        ),
    ),
    required=(
        RequiredKind(
            crd=INFERENCESETS.crd_name,
            owner="KAITO",
            settings=_CONFIGURED,
            needs=(n.WORKSPACES_OF_SETS, n.PODS_OF_SETS),
            of=(KEDA_SCALER,),
        ),
        RequiredKind(
            crd=WORKSPACES.crd_name,
            owner="KAITO",
            settings=_CONFIGURED,
            needs=(n.ALL_INFERENCESETS,),
            of=(STACK,),
        ),
        RequiredKind(
            crd=r.INFERENCEPOOLS.crd_name,
            owner="Gateway API Inference Extension",
            settings=_CONFIGURED,
            needs=(shared.ROUTES_TO_POOLS, shared.DEPLOYMENTS_OF_MODELS),
            only_needed=True,
        ),
        RequiredKind(
            crd=r.SCALEDOBJECTS.crd_name,
            owner="KEDA",
            part=KEDA,
            settings=_WITH_KEDA,
            needs=(n.SCALED_INFERENCESETS,),
            of=(KEDA,),
            with_stack=False,
        ),
        RequiredKind(
            crd="clustertriggerauthentications.keda.sh",
            owner="KEDA",
            part=KEDA,
            settings=_WITH_KEDA,
            needs=(n.SCALED_INFERENCESETS,),
            of=(KEDA_SCALER,),
            with_stack=False,
        ),
    ),
    scraped=ScrapedPods(
        kind=INFERENCESET_KIND, label_setting="scrape_selector", not_ready=k.MODEL_PODS
    ),
    pickers=PICKERS,
    made_with=MADE_WITH,
    words=StackWords(
        derived="nothing: findings come from the objects as they are",
        required="Deployment `kaito-workspace`; namespaces with the label "
        "`productionstack.kaito.sh/managed-by=modelharness`",
        judged="in namespaces with the label productionstack.kaito.sh/managed-by=modelharness",
    ),
    settings=_settings,
    probes=_probes,
)
