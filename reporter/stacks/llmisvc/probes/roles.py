"""A role of an LLMInferenceService: what serves, what decodes, what prefills."""

from dataclasses import dataclass

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.objects import Deployment, Pod
from reporter.model.subject import ObjectRef
from reporter.stacks.llmisvc.objects import LeaderWorkerSet
from reporter.stacks.llmisvc.reasons import LEADERWORKERSETS
from reporter.workload.deployment import is_available
from reporter.workload.pod import is_ready


@dataclass(frozen=True, kw_only=True)
class LlmRole:
    """What one role runs on.

    Attributes:
        name: `main`, or `decode` and `prefill`.
        multi: its replicas are groups of pods.
        deployment: None where there is none, as where replicas are groups.
        group_set: its LeaderWorkerSet; None where there is none.
        pods: its pods, with all workers of groups.

    """

    name: str
    multi: bool
    deployment: Deployment | None
    group_set: LeaderWorkerSet | None
    pods: tuple[Pod, ...]

    @property
    def title(self) -> str:
        """What messages put before a pod; empty where there is one role only."""
        return "" if self.name == "main" else f"{self.name} "

    @property
    def exists(self) -> bool:
        """Whether it has something to run on."""
        return self.deployment is not None or self.group_set is not None

    @property
    def replicas(self) -> int:
        """Replicas or groups wanted by what it runs on."""
        if self.deployment is not None:
            return self.deployment.wanted
        return self.group_set.wanted if self.group_set is not None else 0

    @property
    def available(self) -> int:
        """Available replicas, or ready groups: what KServe calls ready."""
        if self.deployment is not None:
            return self.deployment.status.available_replicas
        return self.group_set.status.ready_replicas if self.group_set is not None else 0

    @property
    def serves(self) -> bool:
        """Whether a replica is available."""
        if self.deployment is not None:
            return is_available(self.deployment)
        return self.available > 0

    @property
    def is_idle(self) -> bool:
        """Whether it is there, and no replica of it is wanted."""
        return self.exists and self.replicas == 0

    @property
    def has_ready_pod(self) -> bool:
        """Whether a pod is Ready."""
        return any(map(is_ready, self.pods))

    @property
    def ref(self) -> ObjectRef | None:
        """The reference to what it runs on; None where there is none."""
        if self.deployment is not None:
            return DEPLOYMENTS.ref(self.deployment)
        return LEADERWORKERSETS.ref(self.group_set) if self.group_set is not None else None
