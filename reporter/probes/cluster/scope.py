"""What the probe of one shared Deployment is given."""

from dataclasses import dataclass

from reporter.probes.scope import Scope
from reporter.workload.components import ControlPlaneComponent


@dataclass(frozen=True, kw_only=True)
class ComponentScope(Scope):
    """The cluster, and the component that is looked at."""

    component: ControlPlaneComponent
