"""The settings of LLMInferenceServices."""

from reporter.setting_types import DeploymentName, Namespaces
from reporter.settings import EvaluationSettings


class LlmisvcSettings(EvaluationSettings):
    """Where the controller of LLMInferenceServices, and that of LeaderWorkerSets, may be."""

    llmisvc_namespace: Namespaces = ("kserve", "opendatahub", "redhat-ods-applications")
    """Namespaces where the controller of LLMInferenceServices may be, and the configs it brings."""

    llmisvc_deployment: DeploymentName = "llmisvc-controller-manager"
    """Deployment of the controller of LLMInferenceServices. Empty: not probed."""

    lws_namespace: Namespaces = ("lws-system",)
    """Namespaces where the LeaderWorkerSet controller may be."""

    lws_deployment: DeploymentName = "lws-controller-manager"
    """Deployment of the LeaderWorkerSet controller. Empty: not probed."""
