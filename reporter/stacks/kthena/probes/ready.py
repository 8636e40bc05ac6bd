"""modelservingReady: every wanted group is Running."""

from collections.abc import Iterator

from reporter.model.finding import ReadyEvidence
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.stacks.kthena.probes.scope import View
from reporter.stacks.kthena.reasons import READY


def probe_ready(view: View) -> Iterator[ReadyEvidence]:
    """Yield evidence if as many groups as wanted are Running, and there is no other one.

    Those that are being deleted are on their way out. Where no role has instances, groups without
    a PodGroup cannot be seen, and none is missed.
    """
    wanted = view.modelserving.wanted
    running = sum(each.available for each in view.staying)
    enough = wanted if view.wants_pods else min(wanted, running)
    if not view.pods_known or not running == len(view.staying) == enough:
        return
    count = f"{wanted}/{wanted} ServingGroups Running" if wanted else "0 ServingGroups wanted"
    if wanted and not view.wants_pods:
        count = "0 instances wanted of any role"
    yield ReadyEvidence(
        reason=READY,
        subject=view.subject,
        involved=view.namespace,
        related=view.ref,
        message=cut(clean(f"{view.title} is ready: {count}"), MESSAGE_BYTES),
    )
