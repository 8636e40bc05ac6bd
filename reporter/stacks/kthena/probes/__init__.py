"""The probes of ModelServings: evidence that groups run, and rules that the spec breaks.

References to pods have no uid.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from reporter.model.finding import (
    Evaluation,
    Finding,
    InconclusiveReasons,
    ReadyEvidence,
    ServingEvidence,
)
from reporter.probes.pods import inconclusive_pods, metric_faults, metric_finding
from reporter.probes.scope import Probe, evaluated
from reporter.probes.subjects import StackProbes, SubjectProbes
from reporter.served.scaledobjects import judge_scalers
from reporter.stacks.kthena.derived.validity import violations
from reporter.stacks.kthena.objects import ENTRY_LABEL
from reporter.stacks.kthena.probes import groups
from reporter.stacks.kthena.probes.scope import ModelServingScope
from reporter.stacks.kthena.reasons import INVALID_SPEC, MODELSERVINGS, MODELSERVINGS_FORMER, READY


def probe_ready(scope: ModelServingScope) -> Iterator[ReadyEvidence]:
    """Yield evidence if as many groups as wanted are Running, and no other ones exist.

    Groups that a rollout may add must be Running too; those that are being deleted do not count. If
    no role has instances, groups without a PodGroup are invisible, and none is missed.
    """
    wanted, running = scope.object.wanted, scope.running
    enough = wanted if scope.wants_pods else min(wanted, running)
    if not scope.pods_known or running != len(scope.staying):
        return
    if not enough <= running <= enough + scope.object.surge:
        return
    count = f"{wanted}/{wanted} ServingGroups Running" if wanted else "0 ServingGroups wanted"
    if wanted and not scope.wants_pods:
        count = "0 instances wanted of any role"
    yield scope.evidence(READY, count)


def probe_serving(scope: ModelServingScope) -> Iterator[ServingEvidence]:
    """Yield how many of the wanted groups are Running, by the same evidence."""
    if scope.pods_known:
        yield ServingEvidence(
            subject=scope.subject,
            wanted=scope.object.wanted if scope.wants_pods else 0,
            serving=scope.running,
        )


_MOST_NAMED: Final = 3


def probe_spec(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding if the spec breaks rules; it names the first few."""
    broken = violations(scope.object)
    if not broken:
        return
    rules = "; ".join(f"{field}: {text}" for field, text in broken[:_MOST_NAMED])
    more = f"; and {len(broken) - _MOST_NAMED} more" if len(broken) > _MOST_NAMED else ""
    yield scope.finding(
        reason=INVALID_SPEC,
        related=scope.ref,
        cause=broken[0][0],
        text=f"the spec is invalid: {rules}{more}",
        created=scope.object.created,
        exempt=True,
    )


def probe_scaling(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each autoscaler of it that does not work."""
    return judge_scalers(scope, ((MODELSERVINGS.kind, scope.name),))


def probe_runtime(scope: ModelServingScope) -> Iterator[Finding]:
    """Yield a finding for each fault that the rules found in a pod's metrics page."""
    waits = scope.running < scope.object.wanted
    for pod, fault in metric_faults(scope, scope.pods, waits=waits):
        found = metric_finding(scope, pod, fault)
        yield replace(found, related=scope.pod_ref(pod.name))


def inconclusive(scope: ModelServingScope) -> InconclusiveReasons:
    """Return the reasons that cannot be judged now, by pod."""
    entries = tuple(each for each in scope.pods if each.metadata.label(ENTRY_LABEL))
    found = inconclusive_pods(scope, entries, waits=scope.running < scope.object.wanted)
    return {scope.pod_ref(ref.name): reasons for ref, reasons in found.items()}


_PROBES: Final[tuple[Probe[ModelServingScope], ...]] = (
    probe_spec,
    groups.probe_gang,
    groups.probe_creating,
    groups.probe_deleting,
    groups.probe_rollout,
    groups.probe_groups,
    probe_scaling,
    probe_runtime,
)


def evaluate_modelserving(scope: ModelServingScope) -> Evaluation:
    return evaluated(
        scope,
        chain.from_iterable(probe(scope) for probe in _PROBES),
        probe_ready(scope),
        inconclusive=inconclusive(scope),
        derived=scope.derived,
        serving=probe_serving(scope),
    )


PROBES: Final = StackProbes(
    subjects=SubjectProbes(
        resources=(MODELSERVINGS, MODELSERVINGS_FORMER),
        scope=ModelServingScope,
        evaluate=evaluate_modelserving,
    )
)
