"""The workload namespaces, and how findings refer to Namespaces."""

from typing import Final

from reporter.catalogue.resources import NAMESPACES
from reporter.model.objects import Metadata, Namespace
from reporter.model.subject import ObjectRef
from reporter.snapshot.snapshot import Snapshot

MANAGED_BY: Final = "productionstack.kaito.sh/managed-by"
"""Label of workload namespaces; its value is that of the chart that made them."""

MODELHARNESS: Final = "modelharness"


def managed_namespaces(snapshot: Snapshot) -> tuple[Namespace, ...]:
    """Return the workload namespaces that are not being deleted, by name.

    Whoever looks at one namespace, and may read everything in it but its labels, has named a workload
    namespace.
    """
    if snapshot.state(NAMESPACES).partial and not snapshot.known(NAMESPACES):
        return tuple(Namespace(metadata=Metadata(name=each)) for each in snapshot.covered or ())
    labelled = snapshot[NAMESPACES].labelled("", MANAGED_BY, MODELHARNESS)
    return tuple(each for each in labelled if not each.deleting)


def namespace_ref(snapshot: Snapshot, name: str) -> ObjectRef:
    """Return the reference to a Namespace, with its uid where the Namespace is known."""
    namespace = snapshot[NAMESPACES].get("", name)
    return NAMESPACES.ref(namespace) if namespace else NAMESPACES.ref_named("", name)
