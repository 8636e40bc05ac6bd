"""The Ready of a component in Standard mode, by the conditions of its Deployments.

This is KServe's `PropagateRawStatus` (github.com/kserve/kserve,
pkg/apis/serving/v1beta1/inference_service_status.go, v0.20.0).

The components of an InferenceService and the condition types that speak of each.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum, StrEnum
from typing import Final

from reporter.model.objects import Condition, Deployment
from reporter.stacks.kserve.objects import ComponentSpec, InferenceServiceSpec

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
REPLICA_FAILURE: Final = "ReplicaFailure"

_COMPLETE: Final = "NewReplicaSetAvailable"
_WORKER: Final = "worker"


class Availability(Enum):
    """What the condition Available says."""

    SILENT = "absent or Unknown"
    TRUE = "True"
    FALSE = "False"


class Progress(Enum):
    """What the condition Progressing says."""

    SILENT = "absent or Unknown"
    COMPLETE = "True, reason NewReplicaSetAvailable"
    GOING_ON = "True, other reason"
    FAILED = "False, with message"
    FAILED_SILENTLY = "False, no message"


class Source(Enum):
    """Where reason and message come from."""

    NONE = ""
    AVAILABLE = "A"
    PROGRESSING = "P"


_A, _P, _S = Availability, Progress, Source

TABLE: Final = {
    (_A.SILENT, _P.SILENT): ("False", _S.NONE),
    (_A.SILENT, _P.COMPLETE): ("True", _S.PROGRESSING),
    (_A.SILENT, _P.GOING_ON): ("Unknown", _S.PROGRESSING),
    (_A.SILENT, _P.FAILED): ("False", _S.PROGRESSING),
    (_A.SILENT, _P.FAILED_SILENTLY): ("False", _S.NONE),
    (_A.TRUE, _P.SILENT): ("True", _S.AVAILABLE),
    (_A.TRUE, _P.COMPLETE): ("True", _S.PROGRESSING),
    (_A.TRUE, _P.GOING_ON): ("True", _S.AVAILABLE),
    (_A.TRUE, _P.FAILED): ("False", _S.PROGRESSING),
    (_A.TRUE, _P.FAILED_SILENTLY): ("True", _S.AVAILABLE),
    (_A.FALSE, _P.SILENT): ("False", _S.AVAILABLE),
    (_A.FALSE, _P.COMPLETE): ("False", _S.AVAILABLE),
    (_A.FALSE, _P.GOING_ON): ("False", _S.AVAILABLE),
    (_A.FALSE, _P.FAILED): ("False", _S.AVAILABLE),
    (_A.FALSE, _P.FAILED_SILENTLY): ("False", _S.AVAILABLE),
}
"""Status of the component's Ready, and whose reason and message it takes."""


def raw_ready(type_: str, deployments: Sequence[Deployment], wanted: int = 1) -> Condition:
    """Return a component's Ready condition, by its Deployments: one, or head and workers.

    A ReplicaFailure overrides everything. While there are fewer than are `wanted` it is False
    without a reason, for one that does not exist reports no condition.
    """
    if len(deployments) < wanted:
        return _of(type_, "False", None)
    failure = combined(REPLICA_FAILURE, deployments)
    if failure is not None and failure.status == "True":
        return _of(type_, "False", failure)
    available = combined(AVAILABLE, deployments)
    progressing = combined(PROGRESSING, deployments)
    status, source = TABLE[_availability(available), _progress(progressing)]
    match source:
        case Source.AVAILABLE:
            return _of(type_, status, available)
        case Source.PROGRESSING:
            return _of(type_, status, progressing)
        case Source.NONE:
            return _of(type_, status, None)


def combined(type_: str, deployments: Sequence[Deployment]) -> Condition | None:
    """Return what several Deployments say together, None if one of them says nothing.

    It is True only if all are, and else False, even where one is Unknown. A reason that all have is
    told once; reasons that differ, and all messages, have a prefix each.
    """
    said = [(each, each.status.condition(type_)) for each in deployments]
    if len(said) == 1:
        return said[0][1]
    parts = [(each.name, condition) for each, condition in said if condition is not None]
    if not parts or len(parts) < len(said):
        return None
    reasons = {condition.reason or "" for _, condition in parts}
    return Condition(
        type=type_,
        status="True" if all(each.status == "True" for _, each in parts) else "False",
        reason=reasons.pop() if len(reasons) == 1 else _joined(parts, lambda each: each.reason),
        message=_joined(parts, lambda each: each.message),
    )


def _joined(parts: Sequence[tuple[str, Condition]], text: Callable[[Condition], str | None]) -> str:
    told = [(name, text(condition)) for name, condition in parts]
    return ", ".join(f"{_prefix(name)}: {said}" for name, said in told if said)


def _prefix(deployment: str) -> str:
    return "worker-container" if _WORKER in deployment else "predictor-container"


def _of(type_: str, status: str, source: Condition | None) -> Condition:
    if source is None:
        return Condition(type=type_, status=status)
    return Condition(type=type_, status=status, reason=source.reason, message=source.message)


def _availability(condition: Condition | None) -> Availability:
    match condition.status if condition else "":
        case "True":
            return Availability.TRUE
        case "False":
            return Availability.FALSE
        case _:
            return Availability.SILENT


def _progress(condition: Condition | None) -> Progress:
    match condition:
        case Condition(status="True", reason=reason):
            return Progress.COMPLETE if reason == _COMPLETE else Progress.GOING_ON
        case Condition(status="False", message=message):
            return Progress.FAILED if message else Progress.FAILED_SILENTLY
        case _:
            return Progress.SILENT


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
