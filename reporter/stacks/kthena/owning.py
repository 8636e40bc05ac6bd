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
  waits until the watch returns the write (`Act.WAIT`).
* Expecting the answer to a write before its watch event. The watch may be faster, so digests of
  planned writes are kept until they are answered.
* Ordering resource versions. They are opaque, so they are compared for equality only.
* Trusting a watch that was opened before a field was added to the CRD: it may keep omitting that
  field. At the version that our own write created, the API server's answer counts.
* Writing until the stored status equals the wanted one. The API server may complete what it stores;
  the same wanted status is not written again.

Nothing is remembered after a restart or a change of the leader. Then a status that differs from the
wanted one is written once, and any other is not touched.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from operator import is_
from typing import Final

from reporter.catalogue.resources import COMPONENT
from reporter.model.finding import Derived, Document, Finding
from reporter.model.instant import Instant
from reporter.model.resource import Resource
from reporter.model.subject import ObjectRef, Subject
from reporter.model.text import MESSAGE_BYTES, clean, cut
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kthena import reasons
from reporter.stacks.kthena.derived.facts import CHILDREN
from reporter.stacks.kthena.derived.status import ROLE_STATUSES, digest, our_share, status_document
from reporter.stacks.kthena.objects import ModelServing
from reporter.stacks.kthena.settings import KthenaDaemonSettings, StatusOwnership
from reporter.stacks.output import Decision, OutputScope
from reporter.workload.components import namespace_ref

LONGEST: Final = timedelta(minutes=10)
"""The longest time to stand back, and between retries of a dropped field."""

TWICE: Final = 2
"""How many foreign changes within a resync are a fight, so that we stand back."""

BEHIND: Final = timedelta(minutes=2)
"""How long the watch may take to bring our own write back."""

AT_ONCE: Final = 40
"""How many writes of one object may be sent without a pause within a minute."""

PAUSE: Final = timedelta(seconds=6)
"""The shortest time between further writes, which allows 10 a minute."""

NEVER: Final = timedelta(days=-36_500)
"""A time on the boot clock before all others."""

_MINUTE: Final = timedelta(minutes=1)
_PLANNED: Final = 4
_NO_SHARE: Final = digest({})
_MANAGER_BYTES: Final = 128


class TroubleKind(StrEnum):
    """Why we do not own a status: others keep changing it, or the API server drops fields."""

    CONTESTED = "contested"
    PRUNED = "pruned"


@dataclass(frozen=True, slots=True)
class Trouble:
    """A status that we should own but do not."""

    kind: TroubleKind
    since: datetime
    fields: tuple[str, ...]  # paths such as `status.roleStatuses`
    manager: str = ""  # another field manager that writes this status


@dataclass(frozen=True, slots=True)
class Answer:
    """The API server's answer to our last write of an object."""

    number: int  # larger for later answers
    before: str  # the version that was overwritten
    version: str  # the version after the write; the same if nothing changed
    stored: str | None  # digest of our share in the answer; None if nothing was stored
    asked: str  # digest of what was written
    left_out: tuple[str, ...] = ()  # fields not written because they were dropped before
    pruned: tuple[str, ...] = ()  # fields that were written but are not in the answer


@dataclass(frozen=True, slots=True)
class RewriteInterval:
    """A back-off that doubles, from one resync up to `LONGEST`."""

    level: int = 0
    wait: timedelta = timedelta()
    until: timedelta = NEVER
    since: datetime | None = None

    def raised(self, now: Instant, resync: timedelta) -> "RewriteInterval":
        """Return the next longer back-off, starting now."""
        wait = min(LONGEST, self.wait * 2 or resync)
        return RewriteInterval(self.level + 1, wait, now.boot + wait, self.since or now.wall)


@dataclass(frozen=True, slots=True)
class Compared:
    """Digests of our share with their inputs; a pass with the same inputs reuses them."""

    sources: tuple[object, ...]
    found: str  # the stored share
    kept: str  # the stored share without the fields that are left out
    wanted: str  # the wanted share without them


@dataclass(frozen=True, slots=True)
class Ownership:
    """The memory of one object; times are on the boot clock."""

    answer: Answer | None = None  # the last answer that was processed
    ours: str = ""  # digest of our share as our last write left it
    asked: str = ""  # digest of what that write asked for
    planned: tuple[str, ...] = ()  # digests of planned writes that are not answered yet
    seen: str = ""  # digest of our share when it was last looked at
    counted: str = ""  # version of the last foreign change that was counted
    changes: tuple[timedelta, ...] = ()  # foreign changes of our share in the last resync
    wrote: timedelta = NEVER  # when the answer to our last write was processed
    stirred: timedelta = NEVER  # last foreign change, or our first write after standing back
    contest: RewriteInterval = RewriteInterval()  # how long to stand back
    pruned: tuple[str, ...] = ()  # fields that the API server drops
    pruning: RewriteInterval = RewriteInterval()  # when to retry them
    manager: str = ""  # another field manager that writes this status
    writes: tuple[timedelta, ...] = ()  # our writes within the last minute
    compared: Compared | None = field(default=None, repr=False, compare=False)

    def troubles(self, *, whole: bool) -> tuple[Trouble, ...]:
        """Return the troubles that keep us from owning this status."""
        found = []
        if self.contest.since is not None:
            what = ("status",) if whole else ("status.roleStatuses",)
            found.append(Trouble(TroubleKind.CONTESTED, self.contest.since, what, self.manager))
        if self.pruned and self.pruning.since is not None:
            fields = tuple(f"status.{name}" for name in self.pruned)
            found.append(Trouble(TroubleKind.PRUNED, self.pruning.since, fields))
        return tuple(found)

    def pause(self, now: Instant) -> timedelta | None:
        """Return how long the next write must wait, or None if it need not wait."""
        recent = [each for each in self.writes if now.boot - each < _MINUTE]
        if len(recent) < AT_ONCE or now.boot - recent[-1] >= PAUSE:
            return None
        return recent[-1] + PAUSE - now.boot


class Act(StrEnum):
    AGREES = "agrees"
    WRITE = "write"
    STAND_BACK = "stand back"
    PACED = "paced"
    """The status was written too often within a minute; the next write must wait."""

    WAIT = "wait"
    """The watch has not returned our own write yet."""


@dataclass(frozen=True, slots=True)
class Verdict:
    act: Act
    wait: timedelta | None = None  # time until the verdict may change by itself
    left_out: tuple[str, ...] = ()  # fields not to write because the API server drops them


class Method(StrEnum):
    REPLACE = "replace"
    """We own the whole status: PUT."""

    APPLY = "apply"
    """We own the roles: server-side apply under our field manager."""

    RELEASE = "release"
    """A merge patch replaces the roles, which removes other roles whoever manages them.

    Parts that it does not change keep their managers, and the roles are never missing.
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
        part = our_share(self.derived.dated(now).status, whole=whole, without=left_out)
        # An apply spells out an empty list of roles, because an empty status is refused.
        status = part if whole or ROLE_STATUSES in left_out else {ROLE_STATUSES: [], **part}
        return StatusWrite(
            resource=self.resource,
            object=replace(self.derived.object, uid=self.modelserving.metadata.uid),
            method=Method.REPLACE if whole else Method.APPLY,
            version=self.version,
            status=status,
            asked=digest(part),
            left_out=left_out,
        )


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
    known = _heard(memory or Ownership(), answer, now, resync=resync)
    answer = known.answer
    if answer is not None and answer.version != answer.before == claim.version:
        wait = known.wrote + BEHIND - now.boot
        if wait > timedelta():
            return known, Verdict(Act.WAIT, wait)
    left_out = known.pruned if now.boot < known.pruning.until else ()
    compared = _compared(known.compared, claim, left_out, whole=whole)
    found, kept, wanted = compared.found, compared.kept, compared.wanted
    if answer and answer.version == claim.version and not answer.pruned and not left_out:
        # Nobody has written since, so the share is stored as our last write left it.
        found, kept = answer.stored or found, answer.stored or kept
    # The API server may drop or complete what it stores, so this may be what it made of the same
    # wanted share. Only fields that it dropped entirely are retried from time to time.
    is_settled = bool(known.ours) and (found, wanted) == (known.ours, known.asked)
    agrees = kept == wanted or (is_settled and (not known.pruned or bool(left_out)))
    if compared is not known.compared:
        known = replace(known, compared=compared)
    is_loss = not whole and found == _NO_SHARE
    known = _looked_at(known, claim, found, now=now, resync=resync, tolerated=agrees or is_loss)
    if agrees:
        retry = known.pruning.until - now.boot if left_out else None
        return _quiet(known, now, resync), Verdict(Act.AGREES, retry)
    if now.boot < known.contest.until:
        return known, Verdict(Act.STAND_BACK, known.contest.until - now.boot)
    if (pause := known.pause(now)) is not None:
        return known, Verdict(Act.PACED, pause)
    if known.planned[-1:] != (wanted,):
        known = replace(known, planned=(*known.planned, wanted)[-_PLANNED:])
    return known, Verdict(Act.WRITE, left_out=left_out)


def _compared(
    before: Compared | None, claim: Claim, left_out: tuple[str, ...], *, whole: bool
) -> Compared:
    """Return the digests, or those of the last pass if it compared the same objects."""
    sources = (claim.modelserving.status, claim.derived.status, left_out)
    if before is not None and all(map(is_, before.sources, sources)):
        return before
    stored = status_document(claim.modelserving.status)
    found = digest(our_share(stored, whole=whole))
    kept = digest(our_share(stored, whole=whole, without=left_out)) if left_out else found
    wanted = digest(our_share(claim.derived.status, whole=whole, without=left_out))
    return Compared(sources, found, kept, wanted)


def _heard(
    known: Ownership, answer: Answer | None, now: Instant, *, resync: timedelta
) -> Ownership:
    if answer is None or (known.answer is not None and answer.number <= known.answer.number):
        return known
    dropped = tuple(sorted({*answer.left_out, *answer.pruned}))
    pruning = known.pruning.raised(now, resync) if answer.pruned else known.pruning
    known = replace(
        known,
        answer=answer,
        planned=_after(known.planned, answer.asked),
        pruned=dropped,
        pruning=pruning if dropped else RewriteInterval(),
    )
    if answer.stored is None:
        return known
    known = replace(
        known,
        ours=answer.stored,
        asked=answer.asked,
        seen=answer.stored,
        wrote=now.boot,
        writes=(*(each for each in known.writes if now.boot - each < _MINUTE), now.boot),
    )
    if answer.before == answer.version == known.counted and answer.stored == answer.asked:
        # The wanted share was stored already: the watch showed less, and nobody had changed it.
        known = replace(known, changes=known.changes[:-1])
    # The first write after standing back restarts the quiet time; our later writes do not.
    is_retry = known.contest.level and known.stirred < known.contest.until
    return replace(known, stirred=now.boot) if is_retry else known


def _after(planned: tuple[str, ...], asked: str) -> tuple[str, ...]:
    return planned[planned.index(asked) + 1 :] if asked in planned else planned


def _looked_at(
    known: Ownership, claim: Claim, found: str, *, now: Instant, resync: timedelta, tolerated: bool
) -> Ownership:
    """Record the stored share, and count the change if it is foreign."""
    if found in known.planned:
        # The watch has returned our write before its answer came.
        known = replace(known, ours=found, asked=found, planned=_after(known.planned, found))
    is_foreign = known.ours and found not in {known.seen, known.ours}
    if found != known.seen:
        known = replace(known, seen=found)
    if not is_foreign or tolerated or claim.version == known.counted:
        return known
    manager = claim.modelserving.status_manager_beside(COMPONENT) or known.manager
    known = replace(known, counted=claim.version, stirred=now.boot, manager=manager)
    if now.boot < known.contest.until:
        return known  # While we stand back, foreign changes are no fight.
    recent = (*(each for each in known.changes if now.boot - each <= resync), now.boot)
    # After a fight a single foreign change is enough.
    if len(recent) < TWICE and not known.contest.level:
        return replace(known, changes=recent)
    return replace(known, changes=(), contest=known.contest.raised(now, resync))


def _quiet(known: Ownership, now: Instant, resync: timedelta) -> Ownership:
    """End a contest once the wanted share has stayed for a while."""
    contest = known.contest
    quiet = now.boot - known.stirred
    if not contest.level or quiet < resync:
        return known
    if quiet >= contest.wait:
        return replace(known, contest=RewriteInterval())
    return replace(known, contest=replace(contest, since=None)) if contest.since else known


@dataclass(frozen=True, slots=True)
class StatusPlan:
    """The writes to send, and the uids of the objects that exist."""

    writes: tuple[StatusWrite, ...] = ()
    objects: frozenset[str] = frozenset()


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
    writes: list[StatusWrite] = []
    findings: list[Finding] = []
    waits: list[timedelta] = []
    for claim in _claims(scope.derived, scope.snapshot):
        uid = claim.modelserving.metadata.uid
        known, verdict = judge(
            before.get(uid), claim, answers.get(uid), now=scope.now, whole=whole, resync=resync
        )
        memory[uid] = known
        findings += (
            ownership_finding(claim.derived.object, trouble, scope.snapshot)
            for trouble in known.troubles(whole=whole)
        )
        if verdict.act is Act.WRITE:
            writes.append(claim.write(verdict.left_out, scope.now.wall, whole=whole))
        if verdict.wait is not None:
            waits.append(verdict.wait)
    rests_on = (reasons.MODELSERVINGS, reasons.MODELSERVINGS_FORMER, *CHILDREN)
    states = (scope.snapshot.state(each) for each in rests_on if scope.snapshot.known(each))
    if not all(each.confirmed for each in states):
        return Decision(memory=before, findings=tuple(findings))
    return Decision(
        memory=memory,
        plan=StatusPlan(tuple(writes), frozenset(memory)),
        findings=tuple(findings),
        next_in=min(waits, default=None),
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


def ownership_finding(ref: ObjectRef, trouble: Trouble, snapshot: Snapshot) -> Finding:
    """Return the finding for a trouble with the status of one ModelServing."""
    fields = " and ".join(trouble.fields)
    if trouble.kind is TroubleKind.PRUNED:
        cause = f"the CustomResourceDefinition lacks {fields}"
        text = f"{fields} cannot be written, because {cause}; add it there"
    else:
        cause = f"somebody else keeps changing {fields}"
        manager = cut(clean(trouble.manager), _MANAGER_BYTES)
        others = f' (field manager "{manager}" writes it too)' if manager else ""
        text = (
            f"{cause} back{others}, so the status reporter writes it "
            "less often, in the end every 10 minutes; let only one of the two own it"
        )
    return Finding(
        reason=reasons.STATUS_NOT_OWNED,
        subject=Subject(reasons.MODELSERVING_KIND, ref.namespace, ref.name),
        involved=namespace_ref(snapshot, ref.namespace),
        related=ref,
        message=cut(clean(f"ModelServing {ref.namespace}/{ref.name}: {text}"), MESSAGE_BYTES),
        cause=cause,
        severity=int(trouble.kind is TroubleKind.CONTESTED),
        transition=trouble.since,
        exempt=True,
    )
