"""The pods of endpoint pickers."""

from reporter.catalogue.resources import PODS
from reporter.model.objects import Pod
from reporter.model.stack import ScrapedPickers
from reporter.snapshot.snapshot import Snapshot


def picker_pods(
    snapshot: Snapshot, row: ScrapedPickers, namespace: str, *, name: str
) -> tuple[Pod, ...]:
    """Return the pods of the endpoint picker of a subject, by name."""
    found = snapshot[PODS].labelled(namespace, row.label, row.value(name))
    return tuple(
        pod
        for pod in found
        if all(pod.metadata.label(key) == value for key, value in row.labels.items())
    )
