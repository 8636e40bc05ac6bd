"""Deployments."""

from typing import Final

from msgspec.structs import force_setattr

from reporter.model.objects.base import Conditioned, KubeObject, Labels, Part
from reporter.model.objects.pods import ContainerPort
from reporter.model.objects.selectors import LabelSelector

_TRACING: Final = "OTEL_"


class TracingVariable(Part, frozen=True):
    """An environment variable of OpenTelemetry; the value is empty if it is from elsewhere."""

    name: str
    value: str | None = ""


class TemplateContainer(Part, frozen=True):
    """A container of a Deployment's pod template; of its environment only what OpenTelemetry reads."""

    name: str
    image: str = ""
    args: tuple[str, ...] | None = None
    env: tuple[TracingVariable, ...] | None = None
    ports: tuple[ContainerPort, ...] | None = None

    def __post_init__(self) -> None:
        """Forget all other variables: there are many, and passwords among them."""
        if self.env is not None:
            kept = tuple(each for each in self.env if each.name.startswith(_TRACING))
            force_setattr(self, "env", kept or None)


class TemplateMetadata(Part, frozen=True):
    """`metadata` of a pod template."""

    labels: Labels | None = None
    annotations: dict[str, str] | None = None


class TemplateSpec(Part, frozen=True):
    """`spec` of a pod template."""

    init_containers: tuple[TemplateContainer, ...] | None = None
    containers: tuple[TemplateContainer, ...] | None = None


class PodTemplate(Part, frozen=True):
    """`spec.template` of a Deployment."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: TemplateSpec = TemplateSpec()


class DeploymentStrategy(Part, frozen=True):
    """`spec.strategy` of a Deployment."""

    type: str | None = None


class DeploymentSpec(Part, frozen=True):
    """`spec` of a Deployment."""

    replicas: int | None = None
    paused: bool | None = None
    progress_deadline_seconds: int | None = None
    selector: LabelSelector | None = None
    strategy: DeploymentStrategy | None = None
    template: PodTemplate = PodTemplate()

    @property
    def recreates(self) -> bool:
        """Whether all old pods have to end before a new one is made."""
        return self.strategy is not None and self.strategy.type == "Recreate"


class DeploymentStatus(Conditioned, frozen=True):
    """`status` of a Deployment."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0


class Deployment(KubeObject, frozen=True):
    """apps/v1 Deployment."""

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()

    @property
    def wanted(self) -> int:
        """Replicas asked for; the API's default is 1."""
        return 1 if self.spec.replicas is None else self.spec.replicas
