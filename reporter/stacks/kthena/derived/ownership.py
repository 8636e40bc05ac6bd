"""Who owns the status of a ModelServing: whether to write it, and when to stand back.

The problem: Kthena's controller replaces the whole status by PUT, from a Go type that does not know
`roleStatuses` (github.com/volcano-sh/kthena, pkg/apis/workload/v1alpha1/model_serving_types.go,
v1.0.0). Each of its writes erases ours. If we wrote again each time, two writers could go on for
ever.

What Kubernetes offers does not tell a fight. The resource version as a precondition finds only a
write between our read and our write. Server-side apply reports conflicts among those who apply; a
PUT that leaves a field out removes it without a conflict, and with it our entry in `managedFields`,
so that nothing in the object says we ever owned the field. An API server whose CRD lacks the field
drops it without an error.

The choice: remember what this process wrote of each object, as digests of our share, and compare
each look with that. What is there and is neither our last write nor what we saw before is somebody
else's change. Two of them within a resync are a fight: we stand back for a resync, and twice as
long after each further change, up to ten minutes. A field that was dropped is left out of writes
and tried again with the same back-off.

Beside a controller that writes the rest, the loss of our fields is no fight: whoever does not know
them removes them with each write, and the next one waits for another reason to write. They are
written again at once. Every write is paced: forty at once, then one in 6 seconds, so that a crash
loop does not fill the API server's history.

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

What is remembered of the status of one ModelServing that is ours to write.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from operator import is_
from typing import Final

from reporter.model.finding import Document
from reporter.model.instant import Instant
from reporter.stacks.kthena.derived.status import digest, our_share, status_document
from reporter.stacks.kthena.objects import ModelServingStatus

LONGEST: Final = timedelta(minutes=10)
"""The longest time to stand back, and between tries of a field that was dropped."""

NEVER: Final = timedelta(days=-36_500)
"""A time on the boot clock before all others."""


AT_ONCE: Final = 40
"""Writes of one object that are made without a pause within a minute."""

PAUSE: Final = timedelta(seconds=6)
"""The shortest time between further ones, so that 10 go on to be made in a minute."""

_MINUTE: Final = timedelta(minutes=1)


class TroubleKind(StrEnum):
    """Why we do not own a status."""

    CONTESTED = "contested"
    PRUNED = "pruned"


@dataclass(frozen=True, slots=True)
class Trouble:
    """A status that we do not own although we should.

    Attributes:
        kind: somebody else changes it again and again, or the API server drops fields.
        since: when that was found.
        fields: paths of what is concerned: `status.roleStatuses`.
        manager: somebody else who writes this status; empty if nobody is known.

    """

    kind: TroubleKind
    since: datetime
    fields: tuple[str, ...]
    manager: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the API server made of our last write of an object.

    Attributes:
        number: larger for later answers.
        before: the version that was written over.
        version: the version since; the same where nothing had to be changed.
        stored: digest of what is ours in the answer; None if nothing was stored.
        asked: digest of what was written.
        left_out: fields that were not written, because they had been dropped before.
        pruned: fields that were written and are not in the answer.

    """

    number: int
    before: str
    version: str
    stored: str | None
    asked: str
    left_out: tuple[str, ...] = ()
    pruned: tuple[str, ...] = ()


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
class WritePace:
    """When an object was written, on the boot clock, within the last minute."""

    writes: tuple[timedelta, ...] = ()

    def written(self, now: Instant) -> "WritePace":
        """Return the pace after one more write."""
        return WritePace((*(each for each in self.writes if now.boot - each < _MINUTE), now.boot))

    def pause(self, now: Instant) -> timedelta | None:
        """Return how long the next write has to wait; None if it is free."""
        recent = [each for each in self.writes if now.boot - each < _MINUTE]
        if len(recent) < AT_ONCE or now.boot - recent[-1] >= PAUSE:
            return None
        return recent[-1] + PAUSE - now.boot


@dataclass(frozen=True, slots=True)
class Compared:
    """What is stored and what is wanted, as digests of our share.

    Attributes:
        sources: what they were made of, for the next pass that has the same.
        found: what is stored.
        kept: the same without the fields that are left out.
        wanted: what is wanted, without the fields that are left out.

    """

    sources: tuple[object, ...]
    found: str
    kept: str
    wanted: str

    def rests_on(self, sources: tuple[object, ...]) -> bool:
        """Tell whether these are the very objects that the digests were made of."""
        return all(map(is_, self.sources, sources))


@dataclass(frozen=True, slots=True)
class Ownership:
    """What is remembered of one object; times are on the boot clock.

    Attributes:
        answer: the last one that was taken in.
        ours: digest of what is ours as our last write left it; empty if there was none.
        asked: digest of what that write asked for.
        planned: digests of what was to be written and whose answers are not in.
        seen: digest of what was ours when it was last looked at.
        counted: version of the last change of somebody else that was counted.
        changes: when others changed what is ours, within the last resync.
        wrote: when the answer to our last write was taken in.
        stirred: when somebody else last changed what is ours, or we first wrote again after that.
        contest: how long to stand back.
        pruned: fields that the API server drops.
        pruning: when to try them again.
        manager: who else writes this status.
        pace: when it was written.
        compared: what was compared last; a matter of speed only.

    """

    answer: Answer | None = None
    ours: str = ""
    asked: str = ""
    planned: tuple[str, ...] = ()
    seen: str = ""
    counted: str = ""
    changes: tuple[timedelta, ...] = ()
    wrote: timedelta = NEVER
    stirred: timedelta = NEVER
    contest: RewriteInterval = RewriteInterval()
    pruned: tuple[str, ...] = ()
    pruning: RewriteInterval = RewriteInterval()
    manager: str = ""
    pace: WritePace = WritePace()
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


TWICE: Final = 2
"""How many foreign changes within a resync are a fight, which ends our writing for a while."""

BEHIND: Final = timedelta(minutes=2)
"""How long the watch may take to bring our own write back."""

_PLANNED: Final = 4
_NO_SHARE: Final = digest({})


class Act(StrEnum):
    """What to do about the status of one object."""

    AGREES = "agrees"
    WRITE = "write"
    STAND_BACK = "stand back"
    PACED = "paced"
    """It was written several times within a minute; the next write is due a little later."""

    WAIT = "wait"
    """Our own write has not come back yet."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do about one object.

    Attributes:
        act: what.
        wait: time until the verdict may be another one although nothing changes.
        left_out: fields not to write, because the API server drops them.

    """

    act: Act
    wait: timedelta | None = None
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """One object whose status is to be owned.

    Attributes:
        uid: of the object.
        version: its resource version in the snapshot.
        stored: the status in the snapshot.
        wanted: the status that it should have, in the shape of the API.
        manager: who else wrote the status last; empty if nobody did.

    """

    uid: str
    version: str
    stored: ModelServingStatus
    wanted: Document
    manager: str = ""


@dataclass(frozen=True, slots=True)
class OwnershipJudgement:
    """The verdicts of a pass by uid, what keeps us from owning, and what the next pass is given."""

    memory: Mapping[str, Ownership] = field(default_factory=dict)
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    troubles: Mapping[str, tuple[Trouble, ...]] = field(default_factory=dict)


NOTHING: Final = OwnershipJudgement()
"""Of a pass that does not write. A standby forgets: the leader's writes are not its own."""


def judge_all(
    memory: Mapping[str, Ownership],
    claims: Iterable[Claim],
    answers: Mapping[str, Answer],
    *,
    now: Instant,
    whole: bool,
    resync: timedelta,
) -> OwnershipJudgement:
    """Judge all objects; an object that is not claimed any more is forgotten."""
    kept: dict[str, Ownership] = {}
    verdicts: dict[str, Verdict] = {}
    troubles: dict[str, tuple[Trouble, ...]] = {}
    for claim in claims:
        uid = claim.uid
        kept[uid], verdicts[uid] = judge(
            memory.get(uid), claim, answers.get(uid), now=now, whole=whole, resync=resync
        )
        if found := kept[uid].troubles(whole=whole):
            troubles[uid] = found
    return OwnershipJudgement(kept, verdicts, troubles)


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
    if _behind(known, claim.version, now):
        return known, Verdict(Act.WAIT, known.wrote + BEHIND - now.boot)
    left_out = known.pruned if now.boot < known.pruning.until else ()
    compared = _compared(known.compared, claim, left_out, whole=whole)
    found, kept, wanted = compared.found, compared.kept, compared.wanted
    if answered := _answered(known, claim, left_out):
        found = kept = answered
    agrees = kept == wanted or _settled(known, found, wanted, left_out=left_out)
    if compared is not known.compared:
        known = replace(known, compared=compared)
    is_loss = not whole and found == _NO_SHARE
    known = _looked_at(known, claim, found, now=now, resync=resync, tolerated=agrees or is_loss)
    if agrees:
        retry = known.pruning.until - now.boot if left_out else None
        return _quiet(known, now, resync), Verdict(Act.AGREES, retry)
    if now.boot < known.contest.until:
        return known, Verdict(Act.STAND_BACK, known.contest.until - now.boot)
    if (pause := known.pace.pause(now)) is not None:
        return known, Verdict(Act.PACED, pause)
    if known.planned[-1:] != (wanted,):
        known = replace(known, planned=(*known.planned, wanted)[-_PLANNED:])
    return known, Verdict(Act.WRITE, left_out=left_out)


def _compared(
    before: Compared | None, claim: Claim, left_out: tuple[str, ...], *, whole: bool
) -> Compared:
    """Return the digests, those of the last pass where it compared the very same."""
    sources = (claim.stored, claim.wanted, left_out)
    if before is not None and before.rests_on(sources):
        return before
    stored = status_document(claim.stored)
    found = digest(our_share(stored, whole=whole))
    kept = digest(our_share(stored, whole=whole, without=left_out)) if left_out else found
    wanted = digest(our_share(claim.wanted, whole=whole, without=left_out))
    return Compared(sources, found, kept, wanted)


def _heard(
    known: Ownership, answer: Answer | None, now: Instant, *, resync: timedelta
) -> Ownership:
    """Take in an answer that is new."""
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
        pace=known.pace.written(now),
    )
    if answer.before == answer.version == known.counted and answer.stored == answer.asked:
        # What we asked for was there: the watch showed less, and nobody had changed anything.
        known = replace(known, changes=known.changes[:-1])
    # A first try after standing back proves nothing yet; our later writes say nothing of others.
    is_retry = known.contest.level and known.stirred < known.contest.until
    return replace(known, stirred=now.boot) if is_retry else known


def _answered(known: Ownership, claim: Claim, left_out: tuple[str, ...]) -> str | None:
    """Return the digest of what our last write left there, if nothing was written since."""
    answer = known.answer
    if answer is None or answer.version != claim.version or answer.pruned or left_out:
        return None
    return answer.stored


def _after(planned: tuple[str, ...], asked: str) -> tuple[str, ...]:
    return planned[planned.index(asked) + 1 :] if asked in planned else planned


def _behind(known: Ownership, version: str, now: Instant) -> bool:
    """Tell whether the snapshot is older than our own last write."""
    answer = known.answer
    return (
        answer is not None
        and answer.version != answer.before == version
        and now.boot - known.wrote < BEHIND
    )


def _settled(known: Ownership, found: str, wanted: str, *, left_out: tuple[str, ...]) -> bool:
    """Tell whether the API server made of this very wish what is there now.

    It may drop or complete what it stores; to write it again would end the same. Only fields that
    it dropped altogether are tried again now and then.
    """
    if known.pruned and not left_out:
        return False
    return bool(known.ours) and found == known.ours and wanted == known.asked


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
    manager = claim.manager or known.manager
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
    if not contest.level:
        return known
    quiet = now.boot - known.stirred
    if quiet >= max(contest.wait, resync):
        return replace(known, contest=RewriteInterval())
    if quiet >= resync and contest.since is not None:
        return replace(known, contest=replace(contest, since=None))
    return known
