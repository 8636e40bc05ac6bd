"""modelservingReady: every wanted group is Running."""

from collections.abc import Iterator

from reporter.catalogue.modelserving import READY
from reporter.model.finding import ReadyEvidence
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.probes.modelserving.scope import View


def probe_ready(view: View) -> Iterator[ReadyEvidence]:
    """Yield evidence if as many groups as wanted are Running, and there is no other one.

    Those that are being deleted are on their way out.
    """
    wanted = view.modelserving.wanted
    running = sum(each.available for each in view.staying)
    if not view.pods_known or not running == len(view.staying) == wanted:
        return
    count = f"{wanted}/{wanted} ServingGroups Running" if wanted else "0 ServingGroups wanted"
    yield ReadyEvidence(
        reason=READY,
        subject=view.subject,
        involved=view.namespace,
        related=view.ref,
        message=cut(clean(f"{view.title} is ready: {count}"), MESSAGE_BYTES),
    )
