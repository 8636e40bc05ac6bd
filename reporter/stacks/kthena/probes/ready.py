"""modelservingReady: every wanted group is Running."""

from collections.abc import Iterator

from reporter.model.finding import ReadyEvidence, ServingEvidence
from reporter.stacks.kthena.derived.ordinals import surge_of
from reporter.stacks.kthena.probes.scope import ModelServingScope
from reporter.stacks.kthena.reasons import READY


def probe_ready(scope: ModelServingScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if as many groups as wanted are Running, and there is no other one.

    Groups that a rollout may add are Running too. Those that are being deleted are on their way out. Where no role has instances, groups without
    a PodGroup cannot be seen, and none is missed.
    """
    wanted = scope.modelserving.wanted
    running = sum(each.available for each in scope.staying)
    enough = wanted if scope.wants_pods else min(wanted, running)
    if not scope.pods_known or running != len(scope.staying):
        return
    surge = surge_of(scope.modelserving.max_surge, wanted)
    if not enough <= running <= enough + surge:
        return
    count = f"{wanted}/{wanted} ServingGroups Running" if wanted else "0 ServingGroups wanted"
    if wanted and not scope.wants_pods:
        count = "0 instances wanted of any role"
    yield scope.evidence(READY, f"{count}")


def probe_serving(scope: ModelServingScope) -> Iterator[ServingEvidence]:
    """Yield how many of the wanted groups are Running, by the same evidence."""
    if scope.pods_known:
        yield ServingEvidence(
            subject=scope.subject,
            wanted=scope.modelserving.wanted if scope.wants_pods else 0,
            serving=sum(each.available for each in scope.staying),
        )
