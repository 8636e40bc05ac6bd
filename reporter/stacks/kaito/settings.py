"""The settings of KAITO's production stack."""

from typing import Self

from pydantic import model_validator

from reporter.setting_types import DeploymentName, Namespaces, SettingError
from reporter.settings import EvaluationSettings


class KaitoSettings(EvaluationSettings):
    """Where KAITO and what it rests on may be."""

    kaito_namespace: Namespaces = ("kaito-workspace", "kaito-system")
    """Namespaces where the KAITO controller may be."""

    kaito_deployment: DeploymentName = "kaito-workspace"
    """Deployment of the KAITO controller. Empty: no KAITO and none of its CRDs."""

    keda_namespace: Namespaces = ("keda", "kube-system")
    """Namespaces where KEDA may be. Empty: no KEDA and none of its CRDs."""

    keda_scaler_namespace: Namespaces = ("keda", "kube-system")
    """Namespaces where the KAITO scaler of KEDA may be."""

    keda_scaler_deployment: DeploymentName = "keda-kaito-scaler"
    """Deployment of the KAITO scaler of KEDA. Empty: not probed."""

    node_provisioner_name: DeploymentName = ""
    """Deployment of the node provisioner. Empty: not probed."""

    node_provisioner_namespace: Namespaces = ()
    """Namespaces where the node provisioner may be; needed with its name."""

    @model_validator(mode="after")
    def _provisioner_has_a_place(self) -> Self:
        if self.node_provisioner_name and not self.node_provisioner_namespace:
            raise SettingError(
                "node_provisioner_namespace",
                "the namespaces of the Deployment that --node-provisioner-name names",
            )
        return self
