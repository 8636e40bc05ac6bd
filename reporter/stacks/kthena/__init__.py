"""Kthena: ModelServings, whose pods come in groups and roles."""

from typing import TYPE_CHECKING, Final

from reporter.model.stack import Controller, RequiredKind, ScrapedPods, StackWords
from reporter.stacks.kthena import needs as n
from reporter.stacks.kthena.objects import ENTRY_LABEL, NAME_LABEL
from reporter.stacks.kthena.reasons import CLUSTER_KTHENA, CLUSTER_REASONS, REASONS, ROLE_CREATING
from reporter.stacks.kthena.resources import (
    MODELSERVING_KIND,
    MODELSERVINGS,
    MODELSERVINGS_FORMER,
    RESOURCES,
    STACK,
)
from reporter.stacks.kthena.suppression import SUPPRESSION
from reporter.stacks.stack import Stack

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes
    from reporter.settings import EvaluationSettings
    from reporter.stacks.output import Output


def _settings() -> "tuple[type[EvaluationSettings], ...]":
    from reporter.stacks.kthena.settings import KthenaDaemonSettings, KthenaSettings

    return (KthenaSettings, KthenaDaemonSettings)


def _probes() -> "StackProbes":
    from reporter.stacks.kthena.probes import PROBES

    return PROBES


def _output() -> "Output":
    from reporter.stacks.kthena.output import OUTPUT

    return OUTPUT


KTHENA: Final = Stack(
    name=STACK,
    project="Kthena",
    resources=RESOURCES,
    cluster_reasons=CLUSTER_REASONS,
    reasons=REASONS,
    suppression=SUPPRESSION,
    controllers=(
        Controller(
            reason=CLUSTER_KTHENA,
            deployment="kthena_deployment",
            namespaces="kthena_namespace",
            needs=n.OF_KTHENA,
            governs=True,
        ),
    ),
    required=(
        RequiredKind(
            crd=MODELSERVINGS.crd_name,
            owner="Kthena",
            instead=(MODELSERVINGS_FORMER.crd_name,),
            settings=("kthena_deployment", "kthena_namespace"),
            needs=(n.PODS_OF_MODELSERVINGS,),
            of=(STACK,),
        ),
    ),
    scraped=ScrapedPods(
        kind=MODELSERVING_KIND,
        label=NAME_LABEL,
        labels={ENTRY_LABEL: "true"},
        images=("vllm", "sglang"),
        port="metrics",
        not_ready=ROLE_CREATING,
    ),
    words=StackWords(
        derived="the whole status, with `roleStatuses`; written if `--modelserving-status` says so",
        required="Deployment `kthena-controller-manager`; PodGroups only where Volcano schedules; "
        "to write `roleStatuses`, a CRD that has the field",
    ),
    settings=_settings,
    probes=_probes,
    output=_output,
)
