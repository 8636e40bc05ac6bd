"""Who owns the status of a ModelServing: whether to write it, what, and when to stand back. Pure.

The problem: Kthena's controller replaces the whole status by PUT, from a Go type that does not know
`roleStatuses` (github.com/volcano-sh/kthena, pkg/apis/workload/v1alpha1/model_serving_types.go,
v1.0.0). Each of its writes erases ours, and if we wrote again each time, two writers could go on
for ever. Kubernetes does not tell a fight: a PUT that leaves a field out removes it without a
conflict, and with it our entry in `managedFields`, and an API server whose CRD lacks a field drops
it without an error.

The choice: remember what this process wrote of each object, as digests of our share, and compare
each look with that. What is there and is neither our last write nor what we saw before is somebody
else's change. Two of them within a resync are a fight: we stand back for a resync, and twice as
long after each further change, up to ten minutes. A field that was dropped is left out of writes
and tried again with the same back-off.

Beside a controller that writes the rest, the loss of our fields is no fight: whoever does not know
them removes them with each write, and the next one waits for another reason to write. They are
written again at once. Every write is paced, so that a crash loop does not fill the API server's
history.

What fails, and why the memory has the fields that it has:

* To judge a snapshot that is older than our own write. It looks like a foreign change, so a pass
  waits until the watch brings the write back (`Act.WAIT`).
* To expect the answer to a write before the watch. The watch may be quicker, so digests of planned
  writes are kept until they are answered.
* To order resource versions. They are opaque, so they are compared for equality only.
* To believe a watch that was opened before a field was added to the CRD: it may go on without that
  field. At the version that our own write left, what the API server answered is what is there.
* To write until the stored status equals the wanted one. The API server may complete what it
  stores; the same wish is not written again.

After a restart or a change of the leader nothing is remembered. Then a status that is not as wanted
is written once, and one that is as wanted is not touched.
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
"""The longest time to stand back, and between tries of a field that was dropped."""

TWICE: Final = 2
"""How many foreign changes within a resync are a fight, which ends our writing for a while."""

BEHIND: Final = timedelta(minutes=2)
"""How long the watch may take to bring our own write back."""

AT_ONCE: Final = 40
"""Writes of one object that are made without a pause within a minute."""

PAUSE: Final = timedelta(seconds=6)
"""The shortest time between further ones, so that 10 go on to be made in a minute."""

NEVER: Final = timedelta(days=-36_500)
"""A time on the boot clock before all others."""

_MINUTE: Final = timedelta(minutes=1)
_PLANNED: Final = 4
_NO_SHARE: Final = digest({})
_MANAGER_BYTES: Final = 128


class TroubleKind(StrEnum):
    """Why: somebody else changes it again and again, or the API server drops fields."""

    CONTESTED = "contested"
    PRUNED = "pruned"


@dataclass(frozen=True, slots=True)
class Trouble:
    """A status that we do not own although we should."""

    kind: TroubleKind
    since: datetime
    fields: tuple[str, ...]  # by their paths: `status.roleStatuses`
    manager: str = ""  # somebody else who writes this status


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server made of our last write of an object."""

    number: int  # larger for later answers
    before: str  # the version that was written over
    version: str  # the version since; the same where nothing had to be changed
    stored: str | None  # digest of what is ours in the answer; None if nothing was stored
    asked: str  # digest of what was written
    left_out: tuple[str, ...] = ()  # not written, because they had been dropped before
    pruned: tuple[str, ...] = ()  # written, and not in the answer


@dataclass(frozen=True, slots=True)
class RewriteInterval:
    """A wait that doubles: from one resync up to `LONGEST`."""

    level: int = 0
    wait: timedelta = timedelta()
    until: timedelta = NEVER
    since: datetime | None = None

    def raised(self, now: Instant, resync: timedelta) -> "RewriteInterval":
        """Return the next longer wait, from now on."""
        wait = min(LONGEST, self.wait * 2 or resync)
        return RewriteInterval(self.level + 1, wait, now.boot + wait, self.since or now.wall)


@dataclass(frozen=True, slots=True)
class Compared:
    """Digests of our share, and what they were made of, for a next pass that has the same."""

    sources: tuple[object, ...]
    found: str  # what is stored
    kept: str  # the same without the fields that are left out
    wanted: str  # what is wanted without them


@dataclass(frozen=True, slots=True)
class Ownership:
    """What is remembered of one object; times are on the boot clock."""

    answer: Answer | None = None  # the last one that was taken in
    ours: str = ""  # digest of what is ours as our last write left it
    asked: str = ""  # digest of what that write asked for
    planned: tuple[str, ...] = ()  # digests of what was to be written and is not answered
    seen: str = ""  # digest of what was ours when it was last looked at
    counted: str = ""  # version of the last change of somebody else that was counted
    changes: tuple[timedelta, ...] = ()  # when others changed what is ours, in the last resync
    wrote: timedelta = NEVER  # when the answer to our last write was taken in
    stirred: timedelta = NEVER  # when others last changed what is ours, or we wrote again first
    contest: RewriteInterval = RewriteInterval()  # how long to stand back
    pruned: tuple[str, ...] = ()  # fields that the API server drops
    pruning: RewriteInterval = RewriteInterval()  # when to try them again
    manager: str = ""  # who else writes this status
    writes: tuple[timedelta, ...] = ()  # when it was written, within the last minute
    compared: Compared | None = field(default=None, repr=False, compare=False)

    def troubles(self, *, whole: bool) -> tuple[Trouble, ...]:
        """Return what keeps us from owning this status."""
        found = []
        if self.contest.since is not None:
            what = ("status",) if whole else ("status.roleStatuses",)
            found.append(Trouble(TroubleKind.CONTESTED, self.contest.since, what, self.manager))
        if self.pruned and self.pruning.since is not None:
            fields = tuple(f"status.{name}" for name in self.pruned)
            found.append(Trouble(TroubleKind.PRUNED, self.pruning.since, fields))
        return tuple(found)

    def pause(self, now: Instant) -> timedelta | None:
        """Return how long the next write has to wait; None if it is free."""
        recent = [each for each in self.writes if now.boot - each < _MINUTE]
        if len(recent) < AT_ONCE or now.boot - recent[-1] >= PAUSE:
            return None
        return recent[-1] + PAUSE - now.boot


class Act(StrEnum):
    AGREES = "agrees"
    WRITE = "write"
    STAND_BACK = "stand back"
    PACED = "paced"
    """It was written several times within a minute; the next write is due a little later."""

    WAIT = "wait"
    """Our own write has not come back yet."""


@dataclass(frozen=True, slots=True)
class Verdict:
    act: Act
    wait: timedelta | None = None  # until it may be another one although nothing changes
    left_out: tuple[str, ...] = ()  # fields not to write, because the API server drops them


class Method(StrEnum):
    REPLACE = "replace"
    """All of it is ours: PUT."""

    APPLY = "apply"
    """The roles are ours: server-side apply under our field manager."""

    RELEASE = "release"
    """The roles are replaced by a merge patch, which removes the others for all of their managers.

    What it does not change stays with who owns it, and the roles are never away.
    """


@dataclass(frozen=True, slots=True)
class StatusWrite:
    resource: Resource[ModelServing]
    object: ObjectRef  # with its uid
    method: Method
    version: str  # that may be written over
    status: Document
    asked: str  # digest of what is wanted
    left_out: tuple[str, ...] = ()  # fields that are not written, because they are dropped


@dataclass(frozen=True, slots=True)
class Claim:
    """A ModelServing as the snapshot has it, and the status that it should have."""

    resource: Resource[ModelServing]
    modelserving: ModelServing
    derived: Derived

    @property
    def version(self) -> str:
        return self.modelserving.metadata.resource_version

    def write(self, left_out: tuple[str, ...], now: datetime, *, whole: bool) -> StatusWrite:
        part = our_share(self.derived.dated(now).status, whole=whole, without=left_out)
        # An empty list of roles is said in an apply, for an empty status is refused.
        said = part if whole or ROLE_STATUSES in left_out else {ROLE_STATUSES: [], **part}
        return StatusWrite(
            resource=self.resource,
            object=replace(self.derived.object, uid=self.modelserving.metadata.uid),
            method=Method.REPLACE if whole else Method.APPLY,
            version=self.version,
            status=said,
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
        memory: what the last pass remembered; None if it did not know the object.
        claim: the object as the snapshot has it, and what its status should be.
        answer: the last answer to a write of it.
        now: the time of the pass.
        whole: whether all of the status is ours, or the roles only.
        resync: within this time two changes of somebody else are a fight.

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
        # Nothing was written since our last write, so what it left is there.
        found, kept = answer.stored or found, answer.stored or kept
    # Of this very wish the API server may have made what is there now, as it drops or completes
    # what it stores; only fields that it dropped altogether are tried again now and then.
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
    """Return the digests, those of the last pass where it compared the very same."""
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
        # What we asked for was there: the watch showed less, and nobody had changed anything.
        known = replace(known, changes=known.changes[:-1])
    # A first try after standing back proves nothing yet; our later writes say nothing of others.
    is_retry = known.contest.level and known.stirred < known.contest.until
    return replace(known, stirred=now.boot) if is_retry else known


def _after(planned: tuple[str, ...], asked: str) -> tuple[str, ...]:
    return planned[planned.index(asked) + 1 :] if asked in planned else planned


def _looked_at(
    known: Ownership, claim: Claim, found: str, *, now: Instant, resync: timedelta, tolerated: bool
) -> Ownership:
    """Note what is there, and count it where somebody else changed what was ours."""
    if found in known.planned:
        # Our write has come back sooner than its answer.
        known = replace(known, ours=found, asked=found, planned=_after(known.planned, found))
    is_foreign = known.ours and found not in {known.seen, known.ours}
    if found != known.seen:
        known = replace(known, seen=found)
    if not is_foreign or tolerated or claim.version == known.counted:
        return known
    manager = claim.modelserving.status_manager_beside(COMPONENT) or known.manager
    known = replace(known, counted=claim.version, stirred=now.boot, manager=manager)
    if now.boot < known.contest.until:
        return known  # While we stand back there is nothing to contest.
    recent = (*(each for each in known.changes if now.boot - each <= resync), now.boot)
    # After a fight a single foreign change is enough.
    if len(recent) < TWICE and not known.contest.level:
        return replace(known, changes=recent)
    return replace(known, changes=(), contest=known.contest.raised(now, resync))


def _quiet(known: Ownership, now: Instant, resync: timedelta) -> Ownership:
    """End a contest once what we want has stood for a while."""
    contest = known.contest
    quiet = now.boot - known.stirred
    if not contest.level or quiet < resync:
        return known
    if quiet >= contest.wait:
        return replace(known, contest=RewriteInterval())
    return replace(known, contest=replace(contest, since=None)) if contest.since else known


@dataclass(frozen=True, slots=True)
class StatusPlan:
    """What to write, and the uids of the objects that exist."""

    writes: tuple[StatusWrite, ...] = ()
    objects: frozenset[str] = frozenset()


def own(
    scope: OutputScope, before: Mapping[str, Ownership], answers: Mapping[str, Answer]
) -> Decision:
    """Decide which statuses to write; an object that is being deleted is not claimed.

    A replica that does not lead remembers no writes: those of the leader are not its own.

    Args:
        scope: what it is decided from.
        before: what the last pass remembered of each object, by uid.
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
    """Return what is told of a trouble with the status of one ModelServing."""
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
