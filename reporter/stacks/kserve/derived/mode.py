"""How an InferenceService is deployed, and which of its annotations are switches."""

from enum import StrEnum
from typing import Final

from reporter.stacks.kserve.objects import InferenceService

STOP: Final = "serving.kserve.io/stop"
FREEZE: Final = "serving.kserve.io/disable-auto-update"
DEPLOYMENT_MODE: Final = "serving.kserve.io/deploymentMode"


class Mode(StrEnum):
    """A deployment mode, by its present name."""

    KNATIVE = "Knative"
    STANDARD = "Standard"
    MODELMESH = "ModelMesh"


_NAMES: Final = {
    **{each.value: each for each in Mode},
    "Serverless": Mode.KNATIVE,
    "RawDeployment": Mode.STANDARD,
}
"""Present and old names."""


def mode_of(inferenceservice: InferenceService, default: Mode = Mode.KNATIVE) -> Mode:
    """Return the deployment mode in effect: what the status says, else the annotation.

    `default` is what KServe is configured with, which is not read; it also stands for a name that
    is not known.
    """
    return named_mode(inferenceservice) or default


def named_mode(inferenceservice: InferenceService) -> Mode | None:
    """Return the deployment mode that the status names, else the annotation; None where neither does."""
    named = inferenceservice.status.deployment_mode or inferenceservice.metadata.annotation(
        DEPLOYMENT_MODE
    )
    return _NAMES.get(named or "")


def is_stopped(inferenceservice: InferenceService) -> bool:
    """Tell whether the stop switch is on; `true` in any case of letters."""
    return (inferenceservice.metadata.annotation(STOP) or "").lower() == "true"


def is_frozen(inferenceservice: InferenceService) -> bool:
    """Tell whether KServe leaves the InferenceService alone, as it does only while Ready."""
    if inferenceservice.metadata.annotation(FREEZE) != "true":
        return False
    ready = inferenceservice.status.condition("Ready")
    return ready is not None and ready.status == "True"
