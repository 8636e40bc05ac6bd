"""The kinds of KAITO."""

from reporter.model.objects.base import AnnotatedMetadata, Conditioned, KubeObject, Part


class InferenceSetSpec(Part, frozen=True):
    """`spec` of an InferenceSet."""

    replicas: int | None = None
    node_count_limit: int | None = None


class InferenceSetStatus(Conditioned, frozen=True):
    """`status` of an InferenceSet."""

    replicas: int | None = None
    ready_replicas: int | None = None


class InferenceSet(KubeObject, frozen=True):
    """kaito.sh InferenceSet (v1beta1, v1alpha1)."""

    metadata: AnnotatedMetadata
    spec: InferenceSetSpec = InferenceSetSpec()
    status: InferenceSetStatus = InferenceSetStatus()

    @property
    def wanted(self) -> int:
        """Replicas asked for; the API's default is 1."""
        return 1 if self.spec.replicas is None else self.spec.replicas


class WorkspaceStatus(Conditioned, frozen=True):
    """`status` of a Workspace."""

    state: str | None = None
    worker_nodes: tuple[str, ...] | None = None


class Workspace(KubeObject, frozen=True):
    """kaito.sh Workspace (v1beta1)."""

    metadata: AnnotatedMetadata
    status: WorkspaceStatus = WorkspaceStatus()


class ApiKeyStatus(Conditioned, frozen=True):
    """`status` of an APIKey."""

    phase: str | None = None


class ApiKey(KubeObject, frozen=True):
    """kaito.sh/v1alpha1 APIKey."""

    status: ApiKeyStatus = ApiKeyStatus()
