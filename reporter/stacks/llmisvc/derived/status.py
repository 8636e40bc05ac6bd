"""The conditions and counts that KServe would write now, as far as they follow from objects.

From github.com/kserve/kserve, pkg/controller/v1alpha2/llmisvc: a Deployment's workload is ready if it is
Available (workload_single_node.go), a LeaderWorkerSet's likewise, and the scheduler's if it has an
available replica (scheduler.go); WorkloadsReady, RouterReady and Ready sum up
(pkg/apis/serving/v1alpha2/llm_inference_service_lifecycle.go).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from reporter.model.finding import Document
from reporter.stacks.llmisvc.derived.router import all_of


class PassStage(Enum):
    """The stages of a pass of KServe's. An error ends it, and leaves what comes later as it was."""

    WORKLOADS = "WorkloadsReady"
    ROUTER = "RouterReady"


@dataclass(frozen=True, slots=True)
class Worked:
    """A condition that follows from objects.

    Attributes:
        type: of the condition, such as `MainWorkloadReady`.
        stage: of the pass that writes it, with the condition that sums that stage up.
        ready: whether it should be True; None where that is not known.
        seen: what of the objects says so, such as `LeaderWorkerSet big-kserve-mn is available`;
            empty where there is no more to say.

    """

    type: str
    stage: PassStage
    ready: bool | None
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """An entry of `status.workloads`, which the end of a pass writes.

    Attributes:
        entry: its name there.
        name: of the workload.
        replicas: what KServe counts of it as ready.

    """

    entry: str
    name: str
    replicas: int


_WORDS: Final = {True: "True", False: "False"}


def derived_status(
    generation: int, worked: Iterable[Worked], counted: Iterable[Counted]
) -> Document:
    """Return the status that follows from objects; without what is not known."""
    found = {each.type: each.ready for each in worked} | dict(_sums(tuple(worked)))
    conditions = [
        {"type": type_, "status": _WORDS[ready]}
        for type_, ready in found.items()
        if ready is not None
    ]
    entries = {each.entry: {"name": each.name, "readyReplicas": each.replicas} for each in counted}
    return {"observedGeneration": generation, "conditions": conditions, "workloads": entries}


def _sums(worked: tuple[Worked, ...]) -> Iterator[tuple[str, bool | None]]:
    """Yield the conditions that sum up; without a router there is nothing that is not ready."""
    sums = {
        stage.value: all_of(each.ready for each in worked if each.stage is stage)
        for stage in PassStage
    }
    yield from sums.items()
    yield "Ready", all_of(sums.values())
