"""Decides whether to write the status of a ModelServing, what, and when to stand back. Pure.

The problem: Kthena's controller replaces the whole status by PUT, from a Go type that does not know
`roleStatuses` (github.com/volcano-sh/kthena, pkg/apis/workload/v1alpha1/model_serving_types.go,
v1.0.0). Each of its writes erases our fields, and if we restored them each time, the two writers
could go on for ever. Kubernetes does not report such a fight: a PUT that omits a field removes it
and our entry in `managedFields` without a conflict, and an API server whose CRD lacks a field drops
it without an error.

The choice: remember what this process wrote to each object, as digests of our share, and compare
each snapshot with them. A share that is neither our last write nor what we saw before is a foreign
change. Two foreign changes within a resync are a fight: we stand back for a resync, and twice as
long after each further change, up to ten minutes. A field that the API server drops is left out of
writes and retried with the same back-off.

If a controller owns the rest of the status, the loss of our fields is not a fight: a controller
that does not know them removes them with each write, but it needs another reason to write again. We
restore them at once. Every write is paced, so that a crash loop does not fill the API server's
history.

What fails, and why the memory has the fields that it has:

* Judging a snapshot that is older than our own write. It looks like a foreign change, so a pass
  waits until the watch returns the write.
* Expecting the answer to a write before its watch event. The watch may be faster, so digests of
  planned writes are kept until they are answered.
* Ordering resource versions. They are opaque, so they are compared for equality only.
* Writing until the stored status equals the wanted one. The API server may complete what it stores;
  the same wanted status is not written again.

Nothing is remembered after a restart or a change of the leader. Then a status that differs from the
wanted one is written once, and any other is not touched.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from operator import is_
from typing import Final, NamedTuple, TypeAlias

import msgspec

from reporter.catalogue.resources import COMPONENT
from reporter.model.finding import Derived, Document, Finding
from reporter.model.instant import Instant
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef, Subject
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena import reasons
from reporter.stacks.kthena.derived.facts import CHILDREN
from reporter.stacks.kthena.derived.status import ROLES_FIELDS, digest, our_share, status_document
from reporter.stacks.kthena.objects import ModelServing, ModelServingStatus
from reporter.stacks.kthena.settings import KthenaDaemonSettings, StatusOwnership
from reporter.stacks.output import Decision, OutputScope
from reporter.workload.components import namespace_ref

LONGEST: Final = timedelta(minutes=10)
"""The longest time to stand back, and between retries of a dropped field."""

BEHIND: Final = timedelta(minutes=2)
"""How long the watch may take to bring our own write back."""

AT_ONCE: Final = 40
"""How many writes of one object may be sent without a pause."""

PAUSE: Final = timedelta(seconds=6)
"""The time between further writes, which allows 10 a minute."""

NEVER: Final = timedelta(days=-36_500)
"""A time on the boot clock before all others."""

_BURST: Final = (AT_ONCE - 1) * PAUSE
_PLANNED: Final = 4
_NO_SHARE: Final = digest({})
_MANAGER_BYTES: Final = 128


class Method(StrEnum):
    REPLACE = "replace"
    """We own the whole status: PUT."""

    APPLY = "apply"
    """We own the roles: server-side apply under our field manager."""

    RELEASE = "release"
    """A merge patch replaces the roles, which removes other roles whoever manages them.

    An apply would leave those that others own, and those that we wrote by PUT before the setting
    was changed from full to roles. Parts that it does not change keep their managers, and the roles
    are never missing.
    """


@dataclass(frozen=True, slots=True)
class StatusWrite:
    resource: Resource[ModelServing]
    object: ObjectRef  # with its uid
    method: Method
    version: str  # the version that may be overwritten
    status: Document
    asked: str  # digest of the wanted share
    left_out: tuple[str, ...] = ()  # fields not written because the API server drops them


@dataclass(frozen=True, slots=True)
class Claim:
    """A ModelServing of the snapshot, and its wanted status."""

    resource: Resource[ModelServing]
    modelserving: ModelServing
    derived: Derived

    @property
    def version(self) -> str:
        return self.modelserving.metadata.resource_version

    def write(self, left_out: tuple[str, ...], now: datetime, *, whole: bool) -> StatusWrite:
        share = our_share(self.derived.dated(now).status, whole=whole, without=left_out)
        method, status = Method.REPLACE if whole else Method.APPLY, share
        if not whole and _removes(self.modelserving.status, share):
            method, status = Method.RELEASE, {**dict.fromkeys(sorted(ROLES_FIELDS)), **share}
        return StatusWrite(
            resource=self.resource,
            object=replace(self.derived.object, uid=self.modelserving.metadata.uid),
            method=method,
            version=self.version,
            status=status,
            asked=digest(share),
            left_out=left_out,
        )


def _removes(stored: ModelServingStatus, share: Document) -> bool:
    """Return True if our share lacks a role that is stored, or the number of those left out."""
    wanted = msgspec.convert(share, ModelServingStatus)
    before, after = (
        {(each.serving_group_name, each.role_name, each.role_id) for each in one or ()}
        for one in (stored.role_statuses, wanted.role_statuses)
    )
    omits = stored.role_statuses_omitted and not wanted.role_statuses_omitted
    return bool(omits or before - after)


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The API server's answer to our last write of an object."""

    before: str  # the version that was overwritten
    version: str  # the version after the write; the same if nothing changed
    stored: str | None  # digest of our share in the answer; None if nothing was stored
    asked: str  # digest of what was written
    left_out: tuple[str, ...] = ()  # fields not written because they were dropped before
    pruned: tuple[str, ...] = ()  # fields that were written but are not in the answer


@dataclass(frozen=True, slots=True)
class RewriteInterval:
    """A back-off that doubles, from one resync up to `LONGEST`."""

    wait: timedelta = timedelta()  # 0 if it never began
    until: timedelta = NEVER
    since: datetime | None = None

    def raised(self, now: Instant, resync: timedelta) -> "RewriteInterval":
        """Return the next longer back-off, starting now."""
        wait = min(LONGEST, self.wait * 2 or resync)
        return RewriteInterval(wait, now.boot + wait, self.since or now.wall)


class Compared(NamedTuple):
    """Digests of our share with their inputs; a pass with the same inputs reuses them."""

    sources: tuple[object, object, object]
    found: str  # the stored share, without the fields that are left out
    wanted: str  # the wanted share without them


class Verdict(NamedTuple):
    write: StatusWrite | None = None
    wait: timedelta | None = None  # time until the verdict may change by itself


@dataclass(slots=True)
class Ownership:
    """The memory of one object; times are on the boot clock."""

    answer: Answer | None = None  # the last answer that was processed
    ours: str = ""  # digest of our share as our last write left it
    asked: str = ""  # digest of what that write asked for
    planned: tuple[str, ...] = ()  # digests of planned writes that are not answered yet
    seen: str = ""  # digest of our share when it was last looked at
    counted: str = ""  # version of the last foreign change that was counted
    wrote: timedelta = NEVER  # when the answer to our last write was processed
    stirred: timedelta = NEVER  # last foreign change, or our first write after standing back
    contest: RewriteInterval = RewriteInterval()  # how long to stand back
    pruned: tuple[str, ...] = ()  # fields that the API server drops
    pruning: RewriteInterval = RewriteInterval()  # when to retry them
    manager: str = ""  # another field manager that writes this status
    paced: timedelta = NEVER  # when our writes would be over had each been followed by a pause
    compared: Compared | None = field(default=None, repr=False, compare=False)

    def hear(self, answer: Answer, now: Instant, resync: timedelta) -> None:
        self.answer = answer
        self.planned = _after(self.planned, answer.asked)
        self.pruned = tuple(sorted({*answer.left_out, *answer.pruned}))
        if answer.pruned:
            self.pruning = self.pruning.raised(now, resync)
        elif not self.pruned:
            self.pruning = RewriteInterval()
        if answer.stored is None:
            return
        self.ours = self.seen = answer.stored
        self.asked, self.wrote = answer.asked, now.boot
        self.paced = max(self.paced, now.boot) + PAUSE
        # The first write after standing back restarts the quiet time; our later writes do not.
        if self.contest.wait and self.stirred < self.contest.until:
            self.stirred = now.boot

    def compare(self, claim: Claim, left_out: tuple[str, ...], *, whole: bool) -> Compared:
        """Return the digests of the stored and of the wanted share."""
        stored, wanted = claim.modelserving.status, claim.derived.status
        sources = stored, wanted, left_out
        if self.compared is None or not all(map(is_, self.compared.sources, sources)):
            shares = (
                our_share(each, whole=whole, without=left_out)
                for each in (status_document(stored), wanted)
            )
            self.compared = Compared(sources, *map(digest, shares))
        return self.compared

    def look(
        self, claim: Claim, found: str, *, now: Instant, resync: timedelta, tolerated: bool
    ) -> None:
        """Record the stored share, and count the change if it is foreign."""
        if found in self.planned:
            # The watch has returned our write before its answer came.
            self.ours = self.asked = found
            self.planned = _after(self.planned, found)
        is_foreign = self.ours and found not in {self.seen, self.ours}
        self.seen = found
        if not is_foreign or tolerated or claim.version == self.counted:
            return
        # After a fight a single foreign change is enough; while we stand back, none is a fight.
        is_fight = bool(self.contest.wait) or now.boot - self.stirred <= resync
        if is_fight and now.boot >= self.contest.until:
            self.contest = self.contest.raised(now, resync)
        self.counted, self.stirred = claim.version, now.boot
        self.manager = claim.modelserving.status_manager_beside(COMPONENT) or self.manager

    def rest(self, now: Instant, resync: timedelta) -> None:
        """End a contest once the wanted share has stayed for a while."""
        quiet = now.boot - self.stirred
        if quiet >= max(resync, self.contest.wait):
            self.contest = RewriteInterval()
        elif quiet >= resync:
            self.contest = replace(self.contest, since=None)

    def findings(self, ref: ObjectRef, snapshot: Snapshot, *, whole: bool) -> Iterator[Finding]:
        """Yield a finding for each cause that keeps us from owning this status."""
        told: list[tuple[str, str, datetime, int]] = []
        if self.contest.since is not None:
            cause = f"somebody else keeps changing {'status' if whole else 'status.roleStatuses'}"
            manager = cut(clean(self.manager), _MANAGER_BYTES)
            others = f' (field manager "{manager}" writes it too)' if manager else ""
            text = (
                f"{cause} back{others}, so the status reporter writes it "
                "less often, in the end every 10 minutes; let only one of the two own it"
            )
            told.append((cause, text, self.contest.since, 1))
        if self.pruned and self.pruning.since is not None:
            fields = " and ".join(f"status.{name}" for name in self.pruned)
            cause = f"the CustomResourceDefinition lacks {fields}"
            text = f"{fields} cannot be written, because {cause}; add it there"
            told.append((cause, text, self.pruning.since, 0))
        for cause, text, since, severity in told:
            yield Finding(
                reason=reasons.STATUS_NOT_OWNED,
                subject=Subject(reasons.MODELSERVING_KIND, ref.namespace, ref.name),
                involved=namespace_ref(snapshot, ref.namespace),
                related=ref,
                message=cut(
                    clean(f"ModelServing {ref.namespace}/{ref.name}: {text}"), MESSAGE_BYTES
                ),
                cause=cause,
                severity=severity,
                transition=since,
                exempt=True,
            )


def _after(planned: tuple[str, ...], asked: str) -> tuple[str, ...]:
    return planned[planned.index(asked) + 1 :] if asked in planned else planned


def judge(
    memory: Ownership | None,
    claim: Claim,
    answer: Answer | None,
    *,
    now: Instant,
    whole: bool,
    resync: timedelta,
) -> tuple[Ownership, Verdict]:
    """Judge one object.

    Args:
        memory: the object's memory from the last pass; None for a new object.
        claim: the object of the snapshot, and its wanted status.
        answer: the last answer to a write of it.
        now: the time of the pass.
        whole: whether we own the whole status, or the roles only.
        resync: two foreign changes within this time are a fight.

    """
    known = copy(memory) if memory is not None else Ownership()
    if answer is not None and answer is not known.answer:
        known.hear(answer, now, resync)
    last, behind = known.answer, known.wrote + BEHIND
    if last is not None and last.version != last.before == claim.version and now.boot < behind:
        return known, Verdict(wait=behind - now.boot)
    left_out = known.pruned if now.boot < known.pruning.until else ()
    _, found, wanted = known.compare(claim, left_out, whole=whole)
    # The API server may drop or complete what it stores, so this may be what it made of the same
    # wanted share. Only fields that it dropped entirely are retried from time to time.
    is_settled = bool(known.ours) and (found, wanted) == (known.ours, known.asked)
    agrees = found == wanted or (is_settled and (not known.pruned or bool(left_out)))
    is_loss = not whole and found == _NO_SHARE
    known.look(claim, found, now=now, resync=resync, tolerated=agrees or is_loss)
    if agrees:
        known.rest(now, resync)
        return known, Verdict(wait=known.pruning.until - now.boot if left_out else None)
    not_before = max(known.contest.until, known.paced - _BURST)
    if now.boot < not_before:
        return known, Verdict(wait=not_before - now.boot)
    if known.planned[-1:] != (wanted,):
        known.planned = (*known.planned, wanted)[-_PLANNED:]
    return known, Verdict(claim.write(left_out, now.wall, whole=whole))


StatusPlan: TypeAlias = dict[str, StatusWrite | None]
"""The write to send for each object that exists, if any, by uid."""


def own(
    scope: OutputScope, before: Mapping[str, Ownership], answers: Mapping[str, Answer]
) -> Decision:
    """Decide which statuses to write; objects that are being deleted are skipped.

    A replica that does not lead remembers nothing: the leader's writes are not its own.

    Args:
        scope: the snapshot, the derived statuses and the settings.
        before: the memory of each object from the last pass, by uid.
        answers: the last answer to a write of each object, by uid.

    """
    settings = KthenaDaemonSettings.of(scope.settings)
    if not scope.leading or settings.modelserving_status is StatusOwnership.OFF:
        return Decision(memory={})
    whole = settings.modelserving_status is StatusOwnership.FULL
    resync = timedelta(seconds=settings.resync_seconds)
    memory: dict[str, Ownership] = {}
    plan: StatusPlan = {}
    findings: list[Finding] = []
    waits: list[timedelta] = []
    for claim in _claims(scope.derived, scope.snapshot):
        uid = claim.modelserving.metadata.uid
        memory[uid], (plan[uid], wait) = judge(
            before.get(uid), claim, answers.get(uid), now=scope.now, whole=whole, resync=resync
        )
        waits += () if wait is None else (wait,)
        findings += memory[uid].findings(claim.derived.object, scope.snapshot, whole=whole)
    rests_on = (reasons.MODELSERVINGS, reasons.MODELSERVINGS_FORMER, *CHILDREN)
    states = (scope.snapshot.state(each) for each in rests_on if scope.snapshot.known(each))
    if not all(each.confirmed for each in states):
        return Decision(memory=before, findings=tuple(findings))
    return Decision(
        memory=memory, plan=plan, findings=tuple(findings), next_in=min(waits, default=None)
    )


def _claims(derived: Iterable[Derived], snapshot: Snapshot) -> Iterator[Claim]:
    kinds = {
        (each.api_version(), each.kind): each
        for each in (reasons.MODELSERVINGS, reasons.MODELSERVINGS_FORMER)
    }
    for each in derived:
        resource = kinds.get((each.object.api_version, each.object.kind))
        if resource is not None:
            found = snapshot[resource].get(each.object.namespace, each.object.name)
            if found is not None and not found.deleting:
                yield Claim(resource, found, each)
