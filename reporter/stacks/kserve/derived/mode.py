"""The components of an InferenceService, how they are deployed, and what switches KServe off."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from reporter.stacks.kserve.objects import ComponentSpec, InferenceService, InferenceServiceSpec


class Mode(StrEnum):
    """A deployment mode, by its present name."""

    KNATIVE = "Knative"
    STANDARD = "Standard"
    MODELMESH = "ModelMesh"


_MODES: Final = {each.value: each for each in Mode} | {
    "Serverless": Mode.KNATIVE,
    "RawDeployment": Mode.STANDARD,
}
"""Present and old names."""


class Component(StrEnum):
    """A component, by its key in `spec` and in `status.components`, in KServe's order."""

    PREDICTOR = "predictor"
    TRANSFORMER = "transformer"
    EXPLAINER = "explainer"

    @property
    def ready(self) -> str:
        return f"{self.capitalize()}Ready"

    @property
    def route_ready(self) -> str:
        """Type of its route condition; only the explainer's is in the plural."""
        return f"{self.capitalize()}Route{'s' * (self is Component.EXPLAINER)}Ready"

    @property
    def configuration_ready(self) -> str:
        return f"{self.capitalize()}ConfigurationReady"


READY: Final = "Ready"
PREDICTOR_READY: Final = Component.PREDICTOR.ready
INGRESS_READY: Final = "IngressReady"
CANARY_PREDICTOR_READY: Final = "CanaryPredictorReady"


def named_mode(inferenceservice: InferenceService) -> Mode | None:
    """Return the mode that the status names, else the annotation; None where neither names one."""
    annotation = inferenceservice.metadata.annotation("serving.kserve.io/deploymentMode")
    named = inferenceservice.status.deployment_mode or annotation or ""
    return _MODES.get(named)


def is_stopped(inferenceservice: InferenceService) -> bool:
    """Tell whether the stop switch is on; `true` in any case of letters."""
    return (inferenceservice.metadata.annotation("serving.kserve.io/stop") or "").lower() == "true"


def is_frozen(inferenceservice: InferenceService) -> bool:
    """Tell whether KServe leaves the InferenceService alone, as it does only while Ready."""
    switch = inferenceservice.metadata.annotation("serving.kserve.io/disable-auto-update")
    ready = inferenceservice.status.condition(READY)
    return switch == "true" and ready is not None and ready.status == "True"


def spec_of(spec: InferenceServiceSpec, component: Component) -> ComponentSpec | None:
    match component:
        case Component.PREDICTOR:
            return spec.predictor
        case Component.TRANSFORMER:
            return spec.transformer
        case Component.EXPLAINER:
            return spec.explainer


def components_of(spec: InferenceServiceSpec) -> Iterator[Component]:
    """Yield the components in spec, in the order in which KServe reconciles them."""
    return (each for each in Component if spec_of(spec, each) is not None)


def wanted_deployments(spec: InferenceServiceSpec, component: Component) -> int:
    """Return how many Deployments a component has in Standard mode: workers have their own."""
    part = spec_of(spec, component)
    return 2 if part is not None and part.worker_spec is not None else 1
