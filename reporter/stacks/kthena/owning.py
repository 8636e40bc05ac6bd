"""The part of a pass that owns the status of ModelServings, and tells changes of their roles."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from reporter.catalogue.resources import PODS, SERVICES
from reporter.model.derived import Derived
from reporter.model.finding import Finding
from reporter.model.instant import Instant
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.settings import DaemonSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena.derived.ownership import NOTHING, judge_all
from reporter.stacks.kthena.derived.ownership_memory import Answer, Ownership
from reporter.stacks.kthena.derived.role_changes import Seen, role_changes
from reporter.stacks.kthena.probes.ownership import ownership_findings
from reporter.stacks.kthena.resources import (
    CONTROLLERREVISIONS,
    MODELSERVINGS,
    MODELSERVINGS_FORMER,
    PODGROUPS,
)
from reporter.stacks.kthena.role_events.pacing import Pace
from reporter.stacks.kthena.role_events.teller import tell
from reporter.stacks.kthena.settings import KthenaDaemonSettings, StatusOwnership
from reporter.stacks.kthena.statuses.plan import StatusPlan, StatusTarget, claims_of, plan_statuses

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
    paces: Mapping[str, Pace] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Owned:
    """What a pass decides about ModelServings beside its report.

    Attributes:
        after: what the next pass is given.
        findings: what keeps us from owning a status.
        statuses: the statuses to write; None while what they rest on is not confirmed.
        role_events: the Events to write.
        next_in: time until something changes by itself.

    """

    after: Owning
    findings: tuple[Finding, ...] = ()
    statuses: StatusPlan | None = None
    role_events: tuple[dict[str, object], ...] = ()
    next_in: timedelta | None = None


def own(
    derived: Iterable[Derived],
    snapshot: Snapshot,
    before: Owning,
    answers: Mapping[str, Answer],
    now: Instant,
    settings: DaemonSettings,
    instance: str,
    *,
    leading: bool,
) -> Owned:
    """Decide which statuses to write and which changes of roles to tell.

    Args:
        derived: the statuses that objects should have, of whatever kind.
        snapshot: what they rest on.
        before: what the last pass returned.
        answers: the last answer to a write of each object, by uid.
        now: the time of the pass.
        settings: how much of a status is ours, and whether changes of roles are told.
        instance: which replica this is.
        leading: whether this replica writes. One that does not remembers no writes: those of the
            leader are not its own.

    """
    targets = tuple(_targets(derived, snapshot))
    trusted = all(snapshot.state(each).confirmed for each in _RESTS_ON if snapshot.known(each))
    owned = Owned(replace(before, ownership=NOTHING.memory))
    if leading and KthenaDaemonSettings.of(settings).modelserving_status is not StatusOwnership.OFF:
        owned = _statuses(targets, snapshot, before, answers, now, settings, trusted=trusted)
    if not KthenaDaemonSettings.of(settings).role_events:
        return owned
    seen, changes = role_changes(before.seen, [each.derived for each in targets], trusted=trusted)
    if not leading:
        return replace(owned, after=replace(owned.after, seen=seen, paces={}))
    paces, events, wait = tell(before.paces, changes, now, instance=instance)
    waits = [each for each in (owned.next_in, wait) if each is not None]
    return replace(
        owned,
        after=replace(owned.after, seen=seen, paces=paces),
        role_events=tuple(events),
        next_in=min(waits, default=None),
    )


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
    targets: tuple[StatusTarget, ...],
    snapshot: Snapshot,
    before: Owning,
    answers: Mapping[str, Answer],
    now: Instant,
    settings: DaemonSettings,
    *,
    trusted: bool,
) -> Owned:
    whole = KthenaDaemonSettings.of(settings).modelserving_status is StatusOwnership.FULL
    resync = timedelta(seconds=settings.resync_seconds)
    claims = claims_of(targets)
    judged = judge_all(before.ownership, claims, answers, now=now, whole=whole, resync=resync)
    refs = {target.uid: target.derived.object for target in targets}
    findings = tuple(
        finding
        for uid, troubles in judged.troubles.items()
        for finding in ownership_findings(refs[uid], troubles, snapshot)
    )
    if not trusted:
        return Owned(before, findings)
    plan = plan_statuses(targets, judged.verdicts, now.wall, whole=whole)
    return Owned(replace(before, ownership=judged.memory), findings, plan, next_in=plan.next_in)
