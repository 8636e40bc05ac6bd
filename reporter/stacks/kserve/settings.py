"""The settings of KServe."""

from reporter.setting_types import DeploymentName, Namespaces
from reporter.settings import EvaluationSettings


class KserveSettings(EvaluationSettings):
    # Open Data Hub and OpenShift AI use namespaces of their own
    # (github.com/opendatahub-io/opendatahub-operator).
    kserve_namespace: Namespaces = ("kserve", "opendatahub", "redhat-ods-applications")
    """Namespaces where the KServe controller may be."""

    kserve_deployment: DeploymentName = "kserve-controller-manager"
    """Deployment of the KServe controller. Empty: not probed."""

    knative_namespace: Namespaces = ("knative-serving",)
    """Namespaces where Knative Serving may be."""

    knative_deployment: DeploymentName = "controller"
    """Deployment of the Knative controller, which makes revisions. Empty: not probed."""
