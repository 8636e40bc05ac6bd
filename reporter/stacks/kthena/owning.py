"""The part of a pass that owns the status of ModelServings, and tells changes of their roles."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from reporter.catalogue.resources import PODS, SERVICES
from reporter.model.finding import Derived, Finding
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.sinks.events.render import Document
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena.derived.ownership import NOTHING, Answer, Ownership, judge_all
from reporter.stacks.kthena.derived.role_changes import Seen, role_changes
from reporter.stacks.kthena.probes.ready import ownership_findings
from reporter.stacks.kthena.reasons import (
    CONTROLLERREVISIONS,
    MODELSERVINGS,
    MODELSERVINGS_FORMER,
    PODGROUPS,
)
from reporter.stacks.kthena.role_events import ObjectPace, tell
from reporter.stacks.kthena.settings import KthenaDaemonSettings, StatusOwnership
from reporter.stacks.kthena.statuses import StatusPlan, StatusTarget, claims_of, plan_statuses
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
        seen: the roles of each object at the last pass, by uid.
        paces: when changes of roles were told, by uid.

    """

    ownership: Mapping[str, Ownership] = field(default_factory=dict)
    seen: Seen = field(default_factory=dict)
    paces: Mapping[str, ObjectPace] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OwningPlan:
    """What is to be written to ModelServings.

    Attributes:
        statuses: the statuses; None while what they rest on is not confirmed.
        role_events: the Events on changes of roles.

    """

    statuses: StatusPlan | None = None
    role_events: tuple[Document, ...] = ()


@dataclass(frozen=True, slots=True)
class _Statuses:
    """What is decided about the statuses."""

    memory: Owning
    findings: tuple[Finding, ...] = ()
    plan: StatusPlan | None = None


@dataclass(frozen=True, slots=True)
class _RoleEvents:
    """What is decided about the Events on changes of roles."""

    memory: Owning
    events: tuple[Document, ...] = ()
    next_in: timedelta | None = None


def own(scope: OutputScope, before: Owning, answers: Mapping[str, Answer]) -> Decision:
    """Decide which statuses to write and which changes of roles to tell.

    A replica that does not lead remembers no writes: those of the leader are not its own.

    Args:
        scope: what it is decided from.
        before: what the last pass returned.
        answers: the last answer to a write of each object, by uid.

    """
    settings = KthenaDaemonSettings.of(scope.settings)
    targets = tuple(_targets(scope.derived, scope.snapshot))
    statuses = _Statuses(replace(before, ownership=NOTHING.memory))
    if scope.leading and settings.modelserving_status is not StatusOwnership.OFF:
        statuses = _statuses(scope, targets, before, answers=answers)
    told = _RoleEvents(statuses.memory)
    if settings.role_events:
        told = _role_events(scope, targets, before, memory=statuses.memory)
    waits = (statuses.plan.next_in if statuses.plan else None, told.next_in)
    return Decision(
        memory=told.memory,
        plan=OwningPlan(statuses.plan, told.events),
        findings=statuses.findings,
        next_in=min((each for each in waits if each is not None), default=None),
    )


def _role_events(
    scope: OutputScope, targets: tuple[StatusTarget, ...], before: Owning, *, memory: Owning
) -> _RoleEvents:
    derived = [each.derived for each in targets]
    seen, changes = role_changes(before.seen, derived, trusted=_trusted(scope.snapshot))
    if not scope.leading:
        return _RoleEvents(replace(memory, seen=seen, paces={}))
    paces, events, wait = tell(before.paces, changes, scope.now, instance=scope.instance)
    return _RoleEvents(replace(memory, seen=seen, paces=paces), tuple(events), wait)


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


def _statuses(
    scope: OutputScope,
    targets: tuple[StatusTarget, ...],
    before: Owning,
    *,
    answers: Mapping[str, Answer],
) -> _Statuses:
    settings = KthenaDaemonSettings.of(scope.settings)
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
        return _Statuses(before, findings)
    plan = plan_statuses(targets, judged.verdicts, scope.now.wall, whole=whole)
    return _Statuses(replace(before, ownership=judged.memory), findings, plan)
