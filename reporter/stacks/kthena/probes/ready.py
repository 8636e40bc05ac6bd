"""modelservingReady: every wanted group is Running.

modelservingInvalidSpec: rules of the spec that are broken.

modelservingStatusNotOwned: a status that we should own and that others change, or drop.

What the pages of serving pods say (`reporter/probes/runtime`), as findings of their
ModelServing.

Pods are named without their uid, as by the other findings about ModelServings.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from reporter.model.finding import Finding, ReadyEvidence, ServingEvidence, Undecided
from reporter.model.subject import ObjectRef, Subject
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.probes.pods import metric_faults, metric_finding, undecided_pods
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena.derived.groups import surge_of
from reporter.stacks.kthena.derived.ownership import Trouble, TroubleKind
from reporter.stacks.kthena.derived.validity import violations
from reporter.stacks.kthena.objects import ENTRY_LABEL
from reporter.stacks.kthena.probes.scope import ModelServingScope
from reporter.stacks.kthena.reasons import INVALID_SPEC, MODELSERVING_KIND, READY, STATUS_NOT_OWNED
from reporter.workload.components import namespace_ref


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


_MOST_TOLD: Final = 3


def probe_spec(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding if the spec breaks rules; it names the first few."""
    broken = violations(scope.modelserving)
    if not broken:
        return
    told = "; ".join(str(each) for each in broken[:_MOST_TOLD])
    more = f"; and {len(broken) - _MOST_TOLD} more" if len(broken) > _MOST_TOLD else ""
    yield scope.finding(
        reason=INVALID_SPEC,
        related=scope.ref,
        cause=broken[0].field,
        text=f"the spec is invalid: {told}{more}",
        created=scope.modelserving.created,
        exempt=True,
    )


_SEVERITY: Final = {TroubleKind.PRUNED: 0, TroubleKind.CONTESTED: 1}
_MANAGER_BYTES: Final = 128


def ownership_findings(
    ref: ObjectRef, troubles: Iterable[Trouble], snapshot: Snapshot
) -> Iterator[Finding]:
    """Yield one finding for each trouble with the status of one ModelServing."""
    for trouble in troubles:
        cause, text = _told(trouble)
        yield Finding(
            reason=STATUS_NOT_OWNED,
            subject=Subject(MODELSERVING_KIND, ref.namespace, ref.name),
            involved=namespace_ref(snapshot, ref.namespace),
            related=ref,
            message=cut(clean(f"ModelServing {ref.namespace}/{ref.name}: {text}"), MESSAGE_BYTES),
            cause=cause,
            severity=_SEVERITY[trouble.kind],
            transition=trouble.since,
            exempt=True,
        )


def _told(trouble: Trouble) -> tuple[str, str]:
    """Return the cause in a few words and in a sentence."""
    fields = " and ".join(trouble.fields)
    if trouble.kind is TroubleKind.PRUNED:
        cause = f"the CustomResourceDefinition lacks {fields}"
        text = f"{fields} cannot be written, because {cause}; add it there"
        return cause, text
    others = ""
    if trouble.manager:
        others = f' (field manager "{cut(clean(trouble.manager), _MANAGER_BYTES)}" writes it too)'
    text = (
        f"somebody else keeps changing {fields} back{others}, so the status reporter writes it "
        "less often, in the end every 10 minutes; let only one of the two own it"
    )
    return f"somebody else keeps changing {fields}", text


def probe_runtime(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in the page of a pod."""
    for pod, fault in metric_faults(scope, scope.pods, waits=_waits(scope)):
        found = metric_finding(scope, pod, fault)
        yield replace(found, related=scope.pod_ref(pod.name))


def undecided(scope: ModelServingScope) -> Undecided:
    """Return the reasons that cannot be judged of each pod now."""
    entries = tuple(each for each in scope.pods if each.metadata.label(ENTRY_LABEL))
    found = undecided_pods(scope, entries, waits=_waits(scope))
    return {scope.pod_ref(ref.name): reasons for ref, reasons in found.items()}


def _waits(scope: ModelServingScope) -> bool:
    """Tell whether groups are still to be made or to be complete, as in a scale-out."""
    running = sum(each.available for each in scope.groups)
    return running < scope.modelserving.wanted
