"""Kthena: ModelServings, whose pods come in groups and roles."""

from typing import TYPE_CHECKING, Final

from reporter.catalogue import resources as r
from reporter.model.stack import Controller, Need, RequiredKind, ScrapedPods, StackWords, need
from reporter.stacks.kthena import reasons
from reporter.stacks.kthena.objects import ENTRY_LABEL, NAME_LABEL
from reporter.stacks.stack import Stack

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes
    from reporter.settings import EvaluationSettings
    from reporter.stacks.output import Output


_MAKES: Final = "the Kthena controller makes the pods of each (volcano-sh/kthena, ModelServing)"

OF_KTHENA: Final[tuple[Need, ...]] = (
    need(reasons.MODELSERVINGS, "ModelServings", evidence=_MAKES),
    need(
        reasons.MODELSERVINGS_FORMER,
        "ModelServings of the group that they had at first",
        evidence=_MAKES,
    ),
)
PODS_OF_MODELSERVINGS: Final = need(
    r.PODS,
    f"Pods with the label {NAME_LABEL}",
    evidence="they are replicas of the ModelServing that the label names "
    "(volcano-sh/kthena, ModelServing)",
    shows=lambda pod, _: pod.metadata.label(NAME_LABEL) is not None,
)


def _settings() -> "tuple[type[EvaluationSettings], ...]":
    from reporter.stacks.kthena.settings import KthenaDaemonSettings

    return (KthenaDaemonSettings,)


def _probes() -> "StackProbes":
    from reporter.stacks.kthena.probes import PROBES

    return PROBES


def _output() -> "Output":
    from reporter.stacks.kthena.output import OUTPUT

    return OUTPUT


KTHENA: Final = Stack(
    name=reasons.STACK,
    project="Kthena",
    resources=reasons.RESOURCES,
    cluster_reasons=reasons.CLUSTER_REASONS,
    reasons=reasons.REASONS,
    suppression=reasons.SUPPRESSION,
    scales=True,
    controllers=(
        Controller(
            reason=reasons.CLUSTER_KTHENA,
            names=("kthena-controller-manager",),
            home=("kthena-system",),
            images=("kthena-controller-manager",),
            leases=("lease.kthena.controller-manager",),
            observes=True,
            needs=OF_KTHENA,
            governs=True,
        ),
    ),
    required=(
        RequiredKind(
            crd=reasons.MODELSERVINGS.crd_name,
            owner="Kthena",
            instead=(reasons.MODELSERVINGS_FORMER.crd_name,),
            needs=(PODS_OF_MODELSERVINGS,),
            of=(reasons.STACK,),
        ),
    ),
    scraped=ScrapedPods(
        kind=reasons.MODELSERVING_KIND,
        label=NAME_LABEL,
        labels={ENTRY_LABEL: "true"},
        images=("vllm", "sglang"),
        port="metrics",
        not_ready=reasons.ROLE_CREATING,
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
