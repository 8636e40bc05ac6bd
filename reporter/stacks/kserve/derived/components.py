"""The components of an InferenceService and the condition types that speak of each."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from reporter.stacks.kserve.objects import ComponentSpec, InferenceServiceSpec


class Component(StrEnum):
    """A component, by its key in `spec` and in `status.components`."""

    PREDICTOR = "predictor"
    TRANSFORMER = "transformer"
    EXPLAINER = "explainer"

    @property
    def ready(self) -> str:
        """Type of its Ready condition."""
        return f"{self._title}Ready"

    @property
    def route_ready(self) -> str:
        """Type of its route condition; only the explainer's is in the plural."""
        return "ExplainerRoutesReady" if self is Component.EXPLAINER else f"{self._title}RouteReady"

    @property
    def configuration_ready(self) -> str:
        """Type of its configuration condition."""
        return f"{self._title}ConfigurationReady"

    @property
    def _title(self) -> str:
        return self.capitalize()


READY: Final = "Ready"
PREDICTOR_READY: Final = Component.PREDICTOR.ready
INGRESS_READY: Final = "IngressReady"
ROUTES_READY: Final = "RoutesReady"
LATEST_DEPLOYMENT_READY: Final = "LatestDeploymentReady"
CANARY_PREDICTOR_READY: Final = "CanaryPredictorReady"
STOPPED: Final = "Stopped"


def spec_of(spec: InferenceServiceSpec, component: Component) -> ComponentSpec | None:
    """Return the spec of a component, None where the InferenceService has none."""
    match component:
        case Component.PREDICTOR:
            return spec.predictor
        case Component.TRANSFORMER:
            return spec.transformer
        case Component.EXPLAINER:
            return spec.explainer


def wanted_deployments(spec: InferenceServiceSpec, component: Component) -> int:
    """Return how many Deployments a component has in Standard mode: workers have their own."""
    part = spec_of(spec, component)
    return 2 if part is not None and part.worker_spec is not None else 1


def components_of(spec: InferenceServiceSpec) -> Iterator[Component]:
    """Yield the components in spec, in the order in which KServe reconciles them."""
    return (each for each in Component if spec_of(spec, each) is not None)
