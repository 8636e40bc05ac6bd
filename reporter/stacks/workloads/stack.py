"""Plain workloads: models without a kind of their own, from vLLM's and llm-d's charts or manual."""

from typing import TYPE_CHECKING, Final

from reporter.catalogue.resources import DEPLOYMENTS, STATEFULSETS
from reporter.model.stack import StackWords
from reporter.stacks.stack import Stack
from reporter.stacks.workloads.reasons import LEADERWORKERSETS, REASONS, STACK, SUPPRESSION

if TYPE_CHECKING:
    from reporter.probes.subjects import StackProbes


def _probes() -> "StackProbes":
    from reporter.stacks.workloads.probes import PROBES

    return PROBES


WORKLOADS: Final = Stack(
    name=STACK,
    project="plain workloads",
    resources=(LEADERWORKERSETS,),
    shares=(DEPLOYMENTS, STATEFULSETS),
    reasons=REASONS,
    suppression=SUPPRESSION,
    scales=True,
    words=StackWords(derived="nothing: it has no status of its own", required="nothing"),
    settings=tuple,
    probes=_probes,
)
