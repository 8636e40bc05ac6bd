"""The part of a pass that owns the status of ModelServings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from reporter.catalogue.resources import PODS, SERVICES
from reporter.model.finding import Derived
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena.derived.ownership import NOTHING, Answer, Ownership, judge_all
from reporter.stacks.kthena.probes.ready import ownership_findings
from reporter.stacks.kthena.reasons import (
    CONTROLLERREVISIONS,
    MODELSERVINGS,
    MODELSERVINGS_FORMER,
    PODGROUPS,
)
from reporter.stacks.kthena.settings import KthenaDaemonSettings, StatusOwnership
from reporter.stacks.kthena.statuses import StatusTarget, claims_of, plan_statuses
from reporter.stacks.output import Decision, OutputScope

_SUBJECTS: Final = (MODELSERVINGS, MODELSERVINGS_FORMER)
_RESTS_ON: Final[tuple[Resource[KubeObject], ...]] = (
    *_SUBJECTS,
    PODS,
    SERVICES,
    PODGROUPS,
    CONTROLLERREVISIONS,
)


@dataclass(frozen=True, slots=True)
class Owning:
    """What is remembered from pass to pass.

    Attributes:
        ownership: what was written of each object, and who else writes it, by uid.

    """

    ownership: Mapping[str, Ownership] = field(default_factory=dict)


def own(scope: OutputScope, before: Owning, answers: Mapping[str, Answer]) -> Decision:
    """Decide which statuses to write.

    A replica that does not lead remembers no writes: those of the leader are not its own.

    Args:
        scope: what it is decided from.
        before: what the last pass returned.
        answers: the last answer to a write of each object, by uid.

    """
    settings = KthenaDaemonSettings.of(scope.settings)
    if not scope.leading or settings.modelserving_status is StatusOwnership.OFF:
        return Decision(memory=Owning(NOTHING.memory))
    targets = tuple(_targets(scope.derived, scope.snapshot))
    whole = settings.modelserving_status is StatusOwnership.FULL
    judged = judge_all(
        before.ownership,
        claims_of(targets),
        answers,
        now=scope.now,
        whole=whole,
        resync=timedelta(seconds=settings.resync_seconds),
    )
    refs = {target.uid: target.derived.object for target in targets}
    findings = tuple(
        finding
        for uid, troubles in judged.troubles.items()
        for finding in ownership_findings(refs[uid], troubles, scope.snapshot)
    )
    if not _trusted(scope.snapshot):
        return Decision(memory=before, findings=findings)
    plan = plan_statuses(targets, judged.verdicts, scope.now.wall, whole=whole)
    return Decision(
        memory=Owning(judged.memory), plan=plan, findings=findings, next_in=plan.next_in
    )


def _trusted(snapshot: Snapshot) -> bool:
    return all(snapshot.state(each).confirmed for each in _RESTS_ON if snapshot.known(each))


def _targets(derived: Iterable[Derived], snapshot: Snapshot) -> Iterator[StatusTarget]:
    by_version = {each.api_version(): each for each in _SUBJECTS}
    for each in derived:
        resource = by_version.get(each.object.api_version)
        if resource is None or each.object.kind != resource.kind:
            continue
        modelserving = snapshot[resource].get(each.object.namespace, each.object.name)
        if modelserving is not None:
            yield StatusTarget(resource, modelserving, each)
