"""The rules of docs/architecture.md once more: slowly, in one piece, and straight from their text.

Where the rules are silent this is what both resolvers do, and why:

* A fault is what is seen of one object under one key. Findings about the same object are one
  fault, whose time is the earliest of theirs and whose voice is the worst's. Time under a budget
  has a clock of its own: it is no part of the grace of an error that follows it.
* What fired on an object goes on when its cause changes; only a budget may begin again. A young
  fault goes on for it only while no other fault of the object is told.
* A fault that is away for less than its recovery time keeps its clock, fired or not. Else a pod
  that is ready and not ready by turns would never get through its grace.
* A key that fired and of which only faults in grace are seen is clearing. When that is over the
  young fault stands for itself: it is pending, in an episode of its own.
* Only what fires is clearing. What was pending, held, suppressed or secondary and is gone leaves
  the report at once, and is remembered for its recovery time.
* A fault that is seen is judged by what is seen, also while something else its reason reads is
  unknown. Only what is not seen any more is stale then: it keeps its disposition.
* A clearing finding goes on suppressing, and outranking, as it did when it was seen.
* A verdict waits for what the reason's upstreams read, too: a cause is told before its symptoms.
* What may not be read is not waited for, nor what alone has been out of reach for long. A
  definition is missing only where the last question to API discovery was answered.
* Unconfirmed data makes pending what would start to fire. What is suppressed or held stays so.
* An upstream that is pending and away for a moment still holds; one that is stale does not. One
  that suppressed, was stale, and is found recovered then holds from that moment.
* Exempt faults are gone after the global grace, also where `--grace` sets another for the reason.
* What would be told and is muted is muted, and goes on as what fires does. It outranks nothing.
  Where another fault of its key was told, that one clears first. What begins to be told in a key
  that was muted begins then.
* What is clearing or stale is muted as soon as all of its faults are, and stays so.
* Under `--emit primary` the chain comes first, what stands outside it follows.
"""

# ruff: noqa: C901, PLR0912 - each rule is followed in one piece, as it is written

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from reporter.catalogue.resources import NAMESPACES
from reporter.snapshot.snapshot import Served
from reporter.stacks.kaito.reasons import INFERENCESETS
from tests.tables import BY_NAME, REASONS, SUPPRESSION

HOUR = timedelta(hours=1)
NONE = timedelta(0)
ORDER = [reason.name for reason in REASONS]
LOUD = ("firing", "secondary", "clearing")
ACTIVE = (*LOUD, "muted")


@dataclass
class Clock:
    """One fault's place in time."""

    since: datetime
    first_seen: timedelta
    last_seen: timedelta
    ripe: bool
    told: bool
    finding: object
    uid: str
    began_seen: dict


@dataclass
class Row:
    """One line of the report."""

    disposition: str
    since: datetime
    fires_at: datetime | None = None
    by: tuple = ()
    stale: bool = False
    related: object = None
    told: list = field(default_factory=list)


@dataclass
class Line:
    """What is remembered of one key."""

    since: datetime | None = None
    fired: bool = False
    exempt: bool = False
    last_seen: timedelta = NONE
    clocks: dict = field(default_factory=dict)
    row: Row | None = None
    listed: bool = False
    stale_since: timedelta | None = None


@dataclass
class Seen:
    """One fault in this pass."""

    clock_key: tuple
    finding: object
    says: object
    since: datetime
    first_seen: timedelta
    remaining: timedelta
    began_seen: dict

    @property
    def ripe(self):
        return self.remaining <= NONE


class ReferenceResolver:
    """Keeps its state from pass to pass."""

    def __init__(self):
        self.lines = {}
        self.suppressing = set()
        self.not_yet_released = set()
        self.released = {}
        self.looked = {}

    def resolve(
        self, evaluation, snapshot, now, *, settings, is_muted=lambda _key, _related: False
    ):
        """Return the report as {key: Row}."""
        self.snapshot, self.now, self.settings = snapshot, now, settings
        self.is_muted = is_muted
        self.subjects = {each.subject for each in evaluation.subjects}
        by_key = {}
        for finding in evaluation.findings:
            by_key.setdefault(finding.key, []).append(finding)

        present, hidden, stale, lines = {}, {}, set(), {}
        for key in set(by_key) | set(self.lines):
            line = self.lines.get(key) or Line()
            faults = self.faults(key, by_key.get(key, []), line)
            if faults and (any(each.ripe for each in faults) or not line.fired):
                present[key], lines[key] = faults, line
                continue
            fate = self.fate(key, line) if key in self.lines else "over"
            if fate == "over":
                if faults:
                    present[key], lines[key] = faults, Line()
                continue
            if fate == "stale":
                stale.add(key)
            lines[key] = line
            if faults and line.listed:
                hidden[key] = faults
            elif faults:
                present[key] = faults

        allowed = {
            key for key in present if self.is_active(lines[key]) or self.confirmed(key.reason)
        }
        absent = {key for key in lines if key not in present}
        firing, pending = self.upstreams(
            present, hidden, absent, stale=stale, allowed=allowed, lines=lines
        )

        rows = {
            key: self.judge(
                key,
                present[key],
                lines[key],
                allowed=key in allowed,
                firing=firing,
                pending=pending,
            )
            for key in present
        }
        for key, row in rows.items():
            if row.disposition == "active":
                self.mute(key, row, lines[key])
        for key in absent:
            self.mute_unseen(key, lines[key])
        self.rank(rows, {key for key in absent if lines[key].listed}, lines)
        for key, row in rows.items():
            self.remember(key, row, present[key], line=lines[key])
        for key, faults in hidden.items():
            self.keep_clocks(key, faults, lines[key])
        self.lines, self.suppressing = lines, firing | self.not_yet_released
        for name, reason in BY_NAME.items():
            if self.confirmed(name) and all(snapshot.known(each) for each in reason.reads):
                self.looked[name] = now.wall
        return {key: line.row for key, line in lines.items() if line.listed}

    # Rules 1 and 2

    def grace(self, reason, *, exempt=False):
        if exempt:
            return NONE
        everyone = self.settings.startup_grace_seconds
        own = BY_NAME[reason].grace_seconds
        if reason in self.settings.grace:
            seconds = self.settings.grace[reason]
        elif everyone == 0 or own is None:
            seconds = everyone
        else:
            seconds = own
        return timedelta(seconds=seconds)

    def recovery(self, reason, exempt):
        everyone = timedelta(seconds=self.settings.startup_grace_seconds)
        return everyone if exempt else min(self.grace(reason), everyone)

    def condition_time(self, finding):
        if finding.transition is None or finding.transition.year <= 1970:
            return None
        if finding.created is not None and finding.created > finding.transition:
            return finding.created
        return finding.transition

    def starts(self, finding):
        """Rule 1 without memory."""
        wall = self.now.wall
        began = self.condition_time(finding)
        patience = max(self.grace(finding.reason, exempt=finding.exempt), finding.budget or NONE)
        if began is not None:
            return min(began, wall)
        looked = self.looked.get(finding.reason)
        seen_without = looked is not None and finding.created and finding.created < looked
        if finding.created is not None and not seen_without and wall < finding.created + patience:
            return min(finding.created, wall)
        return wall

    def faults(self, key, findings, line):
        now = self.now
        groups = {}
        for finding in findings:
            if not finding.sustains:
                groups.setdefault((finding.related, finding.budget is not None), []).append(finding)
        faults = {}
        for clock_key, group in groups.items():
            clock = line.clocks.get(clock_key)
            if clock and clock.uid and group[0].related.uid and clock.uid != group[0].related.uid:
                clock = None
            since = min(clock.since, now.wall) if clock else min(map(self.starts, group))
            first = clock.first_seen if clock else now.boot
            age = max(now.wall - since, now.boot - first, NONE)
            left = {}
            for finding in group:
                wait = self.grace(key.reason, exempt=finding.exempt) - age
                if finding.budget is not None:
                    spent = age
                    began = self.condition_time(finding)
                    if began is not None:
                        spent = max(now.wall - began, NONE)
                        if clock and began in clock.began_seen:
                            spent = max(spent, now.boot - clock.began_seen[began])
                    wait = max(wait, finding.budget - spent)
                left[id(finding)] = max(wait, NONE)
            loud = [each for each in group if left[id(each)] == NONE] or group
            worst = min(loud, key=lambda each: (-each.severity, each.related, each.message))
            if clock and clock.ripe and worst.budget is None:
                left = {None: NONE}
            before = clock.began_seen if clock else {}
            began_seen = {
                began: before.get(began, now.boot) for began in map(self.condition_time, group)
            }
            faults[clock_key] = Seen(
                clock_key, worst, worst, since, first, min(left.values()), began_seen
            )
        told = [fault.finding.related for fault in faults.values() if fault.ripe]
        for clock_key, fault in list(faults.items()):
            if fault.finding.related not in told and fault.finding.lingers:
                self.go_on(faults, fault.finding, line, replacing=clock_key)
        if self.is_active(line):
            for finding in findings:
                if finding.sustains and finding.related not in told:
                    self.go_on(faults, finding, line, replacing=None)
        return list(faults.values())

    def go_on(self, faults, finding, line, *, replacing):
        """Let the fault that fired for the same object go on."""
        for budgeted in (False, True):
            clock_key = (finding.related, budgeted)
            clock = line.clocks.get(clock_key)
            if clock is None or not clock.told:
                continue
            if clock.uid and finding.related.uid and clock.uid != finding.related.uid:
                continue
            if not finding.sustains and not clock.finding.lingers:
                continue
            if clock_key in faults and clock_key != replacing:
                return
            faults[clock_key] = Seen(
                clock_key,
                finding,
                clock.finding,
                clock.since,
                clock.first_seen,
                NONE,
                clock.began_seen,
            )
            return

    # Rule 6, and what is unknown

    def fate(self, key, line):
        """Say what becomes of a key of which nothing ripe is seen, and bring its row up to date."""
        now = self.now
        gone = key.subject not in self.subjects
        if gone and self.existence_known(key.subject):
            return "over"
        if gone or self.unknown(key):
            if line.stale_since is None:
                line.stale_since = now.boot
            line.row.stale, line.row.fires_at = True, None
            return "stale" if now.boot < line.stale_since + HOUR else "over"
        if not self.confirmed(key.reason):
            return "kept"
        line.stale_since, line.row.stale, line.row.fires_at = None, False, None
        if now.boot >= line.last_seen + self.recovery(key.reason, line.exempt):
            return "over"
        line.listed = line.row.disposition in ("firing", "clearing", "muted")
        if line.row.disposition in ("firing", "clearing"):
            line.row = Row("clearing", line.row.since, related=line.row.related)
        return "kept"

    def existence_known(self, subject):
        known = self.snapshot.known
        if subject.kind == "inferenceset":
            return known(NAMESPACES) and known(INFERENCESETS)
        return subject.kind == "namespace" and known(NAMESPACES)

    def unknown(self, key):
        if key.involved.kind == "CustomResourceDefinition":
            return self.snapshot.discovery.state(key.involved.name) is Served.UNKNOWN
        return any(not self.snapshot.known(each) for each in BY_NAME[key.reason].reads)

    def confirmed(self, reason):
        read = list(BY_NAME[reason].reads)
        for row in SUPPRESSION:
            if reason in row.downstream:
                read += BY_NAME[row.upstream].reads
        if reason == "clusterCRDMissing" and not self.snapshot.discovery.confirmed:
            return False
        for state in map(self.snapshot.state, read):
            hopeless = state.cause == "forbidden" or state.lasting
            if not state.confirmed and not hopeless:
                return False
        return True

    def is_active(self, line):
        return line.row is not None and line.row.disposition in ACTIVE

    # Rule 3

    def upstreams(self, present, hidden, absent, *, stale, allowed, lines):
        names = {row.upstream for row in SUPPRESSION}

        def of(key):
            crd = key.involved.name if key.involved.kind == "CustomResourceDefinition" else ""
            return (key.reason, crd)

        firing, pending = set(), set()
        for key, faults in present.items():
            if key.reason in names:
                if key in allowed and any(each.ripe and each.says.governs for each in faults):
                    firing.add(of(key))
                elif any(each.says.governs for each in faults):
                    pending.add(of(key))
        for key, faults in hidden.items():
            if key.reason in names and any(each.says.governs for each in faults):
                pending.add(of(key))
        for key in absent - stale:
            if key.reason in names:
                governed = any(each.finding.governs for each in lines[key].clocks.values())
                if of(key) in self.suppressing:
                    firing.add(of(key))
                elif governed and not self.is_active(lines[key]):
                    pending.add(of(key))
        boot = self.now.boot
        wait = max(timedelta(seconds=self.settings.startup_grace_seconds), timedelta(seconds=1))
        self.released = {each: until for each, until in self.released.items() if until > boot}
        self.not_yet_released = self.suppressing & {of(key) for key in stale}
        for each in self.suppressing - firing - self.not_yet_released:
            self.released[each] = boot + wait
        return firing, pending

    def judge(self, key, faults, line, *, allowed, firing, pending):
        now = self.now
        rows = [row for row in SUPPRESSION if key.reason in row.downstream]
        hits = {
            name: {(row.upstream, row.crd) for row in rows} & set(upstreams)
            for name, upstreams in
            (("firing", firing), ("pending", pending), ("released", self.released))
        }  # fmt: skip
        end = max((self.released[each] for each in hits["released"]), default=None)
        hold = end - now.boot if end is not None and not hits["pending"] else None
        ripe = [each for each in faults if each.ripe]
        if not ripe:
            first = min(faults, key=lambda each: (each.remaining, each.since))
            waits = [
                each.remaining
                if each.finding.independent or hold is None
                else max(each.remaining, hold)
                for each in faults
            ]
            by = ()
            if all(not each.says.independent for each in faults):
                if hits["firing"]:
                    return Row("pending", first.since, by=self.names(hits["firing"]))
                if not self.is_active(line):
                    by = self.names(hits["pending"] | hits["released"])
            fires_at = None if by and hold is None else now.wall + min(waits)
            return Row("pending", first.since, fires_at, by)
        since = line.since if line.fired else min(each.since for each in ripe)
        explained = all(not each.says.independent for each in ripe)
        if explained and hits["firing"]:
            return Row("suppressed", since, by=self.names(hits["firing"]))
        goes_on = allowed and self.is_active(line)
        if explained and not goes_on and (hits["pending"] or hits["released"]):
            by = self.names(hits["pending"] | hits["released"])
            return Row("held", since, now.wall + hold if hold is not None else None, by)
        stopped = hits["firing"] or (not goes_on and (hits["pending"] or hits["released"]))
        told = [each for each in ripe if each.says.independent] if stopped else ripe
        return Row("active" if allowed else "pending", since, told=told or ripe)

    # Rule 4

    def mute(self, key, row, line):
        told = sorted(row.told, key=lambda each: (self.weight(each.says), each.clock_key))
        loud = [each for each in told if not self.is_muted(key, each.says.related)]
        before = line.row
        row.related = (loud or told)[0].says.related
        if len(loud) == len(told):
            return
        if loud:
            if not line.fired or before.disposition == "muted":
                row.since = min(each.since for each in loud)
            return
        row.disposition = "muted"
        was_told = before is not None and before.disposition in ("firing", "clearing")
        recovers = line.last_seen + self.recovery(key.reason, line.exempt)
        if was_told and not self.is_muted(key, before.related) and self.now.boot < recovers:
            row.disposition, row.since, row.related = "clearing", before.since, before.related

    def mute_unseen(self, key, line):
        ripe = [related for (related, _), clock in line.clocks.items() if clock.ripe]
        if (
            line.listed
            and line.row.disposition in ("firing", "clearing", "secondary")
            and ripe
            and all(self.is_muted(key, related) for related in ripe)
        ):
            line.row.disposition, line.row.by = "muted", ()

    def weight(self, finding):
        return (-finding.severity, finding.related, finding.message)

    def names(self, upstreams):
        return tuple(sorted({reason for reason, _ in upstreams}))

    # Rule 5

    def rank(self, rows, absent, lines):
        emit = self.settings.emit

        def place(reason):
            return (not BY_NAME[reason].chain, ORDER.index(reason))

        for key, row in rows.items():
            if row.disposition != "active":
                continue
            rivals = [
                other for other, one in rows.items()
                if other.subject == key.subject and one.disposition in ("active", "!", "?")
            ] + [
                other for other in absent
                if other.subject == key.subject and lines[other].row.disposition in LOUD
            ] + [
                other for other, one in rows.items()
                if other.subject == key.subject and one.disposition == "clearing"
            ]  # fmt: skip
            if emit == "primary":
                above = [
                    other for other in rivals
                    if place(other.reason) < place(key.reason)
                    or (other.reason == key.reason and other in rows and other < key)
                ]  # fmt: skip
            elif emit == "causes" and BY_NAME[key.reason].layer != "cluster":
                above = [
                    other for other in rivals
                    if BY_NAME[key.reason].chain and BY_NAME[other.reason].chain
                    and place(other.reason) < place(key.reason)
                ]  # fmt: skip
            else:
                above = []
            row.disposition = "?" if above else "!"
            row.by = tuple(sorted({each.reason for each in above}, key=place)[:1])
        for row in rows.values():
            row.disposition = {"?": "secondary", "!": "firing"}.get(
                row.disposition, row.disposition
            )

    # What the next pass knows

    def remember(self, key, row, faults, *, line):
        ripe = [each for each in faults if each.ripe]
        if (ripe and row.disposition != "clearing") or not line.fired:
            line.since, line.last_seen = row.since, self.now.boot
            line.exempt = any(each.says.exempt for each in ripe)
        line.fired = line.fired or row.disposition in ("firing", "muted")
        line.row, line.listed, line.stale_since = row, True, None
        self.keep_clocks(key, faults, line)

    def keep_clocks(self, key, faults, line):
        boot = self.now.boot
        clocks = {
            clock_key: clock
            for clock_key, clock in line.clocks.items()
            if boot - clock.last_seen < self.recovery(key.reason, clock.finding.exempt)
        }
        for each in faults:
            clocks[each.clock_key] = Clock(
                each.since,
                each.first_seen,
                boot,
                each.ripe,
                each.ripe and line.fired,
                each.says,
                each.finding.related.uid,
                each.began_seen,
            )
        line.clocks = clocks
