"""The conditions and counts that KServe would write now, as far as they follow from workloads.

From github.com/kserve/kserve, pkg/controller/v1alpha2/llmisvc: a Deployment's workload is ready if it is
Available (workload_single_node.go), a LeaderWorkerSet's likewise, and the scheduler's if it has an
available replica (scheduler.go).
"""

from dataclasses import dataclass

from reporter.model.derived import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """What one workload of an LLMInferenceService says.

    Attributes:
        condition: that KServe writes of it, such as `MainWorkloadReady`.
        ready: whether it should be True.
        entry: its name in `status.workloads`; empty where it has none.
        name: of the workload.
        replicas: what KServe counts of it as ready.

    """

    condition: str
    ready: bool
    entry: str
    name: str
    replicas: int


def derived_status(generation: int, workloads: tuple[Worked, ...]) -> Document:
    """Return the status that follows from workloads."""
    conditions = [
        {"type": each.condition, "status": "True" if each.ready else "False"} for each in workloads
    ]
    entries = {
        each.entry: {"name": each.name, "readyReplicas": each.replicas}
        for each in workloads
        if each.entry
    }
    return {"observedGeneration": generation, "conditions": conditions, "workloads": entries}
