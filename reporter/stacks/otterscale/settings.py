"""The settings of OtterScale."""

from collections.abc import Mapping
from typing import ClassVar

from reporter.settings import EvaluationSettings


class OtterscaleSettings(EvaluationSettings):
    gone: ClassVar[Mapping[str, str]] = {
        "otterscale_operator_flags": "the operator's own arguments are read"
    }

    otterscale_cluster_roles: bool = False
    """Read ClusterRoles and their bindings of endpoint pickers, and report one that is missing."""
