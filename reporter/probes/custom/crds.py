"""Whether the CustomResourceDefinitions that users declare are served."""

from collections.abc import Iterator

from reporter.model.finding import Finding
from reporter.model.subject import CLUSTER, ObjectRef
from reporter.model.text import clean
from reporter.probes.custom.scope import DeclaredScope
from reporter.snapshot.snapshot import Served


def probe_crd(scope: DeclaredScope) -> Iterator[Finding]:
    """Yield a finding for a CRD that discovery answered not to be there.

    Discovery that failed tells nothing.
    """
    component = scope.declared.component
    if component.crd is None:
        return
    name = component.crd.name
    if scope.snapshot.discovery.state(name) is not Served.ABSENT:
        return
    ref = ObjectRef("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
    yield Finding(
        reason=component.reason,
        subject=CLUSTER,
        involved=ref,
        related=ref,
        message=clean(f"{ref} is not served: install or repair what provides it"),
        cause=f"{name} missing",
        governs=bool(component.suppresses),
    )
