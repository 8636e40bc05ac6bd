"""The content of the page as plain values, made from a report and rendered as HTML.

A state is shown by a word and a shape, never by colour alone.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from reporter.model.instant import rfc3339
from reporter.model.reason import EventType
from reporter.model.report import ResolvedFinding
from reporter.sinks.history import SeenEpisode
from reporter.sinks.words import NO_VERDICT, counted


@dataclass(frozen=True, slots=True)
class Mark:
    """A state; the smaller its rank, the more urgent it is."""

    name: str
    word: str
    rank: int


FIRING: Final = Mark("firing", "firing", 0)
DEGRADED: Final = Mark("degraded", "degraded", 1)
"""A stage on the request path, or a subject, that works with a fault."""

NOTICE: Final = Mark("notice", "notice", 1)
PENDING: Final = Mark("pending", "pending", 2)
CLEARING: Final = Mark("clearing", "clearing", 3)
HELD: Final = Mark("held", "held", 4)
SECONDARY: Final = Mark("secondary", "secondary", 5)
SUPPRESSED: Final = Mark("suppressed", "suppressed", 6)
MUTED: Final = Mark("muted", "muted", 7)
UNKNOWN: Final = Mark("unknown", NO_VERDICT, 8)
BLIND: Final = Mark("unknown", "not seen", 8)
"""A finding about what the reporter cannot see; it looks like a missing verdict."""

READY: Final = Mark("ready", "ready", 9)

ALL: Final = (
    FIRING, DEGRADED, NOTICE, PENDING, CLEARING, HELD, SECONDARY, SUPPRESSED, MUTED, UNKNOWN, READY,
)  # fmt: skip
_BY_DISPOSITION: Final = {mark.name: mark for mark in ALL}


def mark_of(finding: ResolvedFinding | SeenEpisode) -> Mark:
    mark = _BY_DISPOSITION.get(str(finding.disposition), UNKNOWN)
    if mark is not FIRING:
        return mark
    if finding.is_blind:
        return BLIND
    return NOTICE if finding.type is EventType.NORMAL else mark


@dataclass(frozen=True, slots=True)
class Lost:
    """Resources whose changes are not read since then; all of them if `resources` is empty."""

    since: datetime
    resources: tuple[str, ...] = ()


_LATER: Final = timedelta(minutes=1)
"""A page saved within this time after its report shows only one time."""


@dataclass(frozen=True, slots=True)
class ReportOrigin:
    """Where a report comes from. `leading` is None if nothing is written at all; `overdue` means
    that the daemon answers but its passes have stopped.
    """

    time: str = ""
    version: str = ""
    leading: bool | None = None
    notes: tuple[str, ...] = ()
    live: bool = False
    lost: Lost | None = None
    overdue: bool = False
    saved: datetime | None = None

    @property
    def is_old(self) -> bool:
        """Whether everything on the page may be outdated."""
        return self.overdue or (self.lost is not None and not self.lost.resources)

    def saved_later(self, at: datetime) -> bool:
        return self.saved is not None and self.saved - at > _LATER


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """A finding, ready to be rendered; its `id` is the same on every page."""

    finding: ResolvedFinding
    id: str
    mark: Mark
    subject: str
    message: str
    cause: str
    relation: str
    brief: str
    """Text after the message: how much it explains, its relation to others, whether it is stale."""

    means: str
    to_do: str
    object: str
    below: tuple["FindingView", ...]
    impact: str
    hits: tuple[str, ...]
    changes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Link:
    id: str
    mark: Mark
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Station:
    """A stage on the request path of a namespace; no request reaches a stage that is `behind`."""

    title: str
    mark: Mark
    text: str
    id: str = ""
    behind: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The request path of one namespace, or of all if a shared part stops the requests."""

    name: str
    stations: tuple[Station, ...]
    serving: str
    rank: int
    stopped: int
    words: str

    @property
    def stops_at(self) -> str:
        return next((each.title for each in self.stations if each.mark is FIRING), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class PathView:
    shared: tuple[Link, ...]
    shared_mark: Mark
    lanes: tuple[Lane, ...]
    well: tuple[str, ...]

    @property
    def title(self) -> str:
        return (
            "Where requests stop"
            if any(each.stops_at for each in self.lanes)
            else "The request path"
        )


@dataclass(frozen=True, slots=True)
class Tile:
    id: str
    mark: Mark
    name: str
    namespace: str
    ready: bool
    lines: tuple[Link, ...]
    caveat: str = ""
    """What `ready` alone would hide, such as `degraded`."""


@dataclass(frozen=True, slots=True)
class SubjectGroup:
    id: str
    title: str
    tiles: tuple[Tile, ...]
    ready: tuple[tuple[str, str], ...]
    """Namespace and name of each ready subject that needs no tile."""

    counts: tuple[tuple[Mark, int], ...]
    """Number of findings in each state, and of subjects that are ready or have no verdict."""


@dataclass(frozen=True, slots=True)
class LayerView:
    id: str
    title: str
    groups: tuple[SubjectGroup, ...]
    counts: tuple[tuple[Mark, int], ...]


@dataclass(frozen=True, slots=True)
class ToldEpisode:
    """An episode in words, and its bar in seconds from the left end of the strip."""

    id: str
    words: str
    begin: int
    end: int
    goes_on: bool


@dataclass(frozen=True, slots=True)
class StripRow:
    """The episodes of one reason and subject, the newest last."""

    id: str
    mark: Mark
    reason: str
    subject: str
    episodes: tuple[ToldEpisode, ...]


_TICKS: Final = 4
"""Sections of the time axis."""


@dataclass(frozen=True, slots=True)
class Strip:
    """The last day. Ended episodes were seen since `counts_from` (None after a single pass);
    earlier ones are known from Events if `recorded`.
    """

    begin: datetime
    end: datetime
    counts_from: datetime | None
    rows: tuple[StripRow, ...]
    recorded: bool = False

    @property
    def counted(self) -> str:
        """A sentence that says which ended episodes are known."""
        events = "from Events on record, whose last refresh counts as the end"
        if self.counts_from is None and self.recorded:
            return f"Ended episodes are known {events}."
        if self.counts_from is None:
            return "Only what fires now is known: no earlier passes, and no Events could be read."
        since = f"Ended episodes were seen since {rfc3339(self.counts_from)}"
        return (
            f"{since}; those that had ended by then are known {events}."
            if self.recorded
            else f"{since}."
        )

    @property
    def ticks(self) -> list[datetime]:
        step = (self.end - self.begin) / _TICKS
        return [self.begin + step * each for each in range(_TICKS + 1)]


@dataclass(frozen=True, slots=True)
class Explanation:
    reason: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """The whole page; `others` are findings that do not fire and are not below another one."""

    at: datetime
    about: ReportOrigin
    verdict: str
    mark: Mark
    rest: str
    models: str
    causes: tuple[FindingView, ...]
    notices: tuple[FindingView, ...]
    not_seen: tuple[FindingView, ...]
    others: tuple[FindingView, ...]
    path: PathView
    layers: tuple[LayerView, ...]
    strip: Strip
    unknown: tuple[tuple[str, str], ...]
    skipped: tuple[tuple[str, str], ...]
    mutes: tuple[tuple[str, str], ...]
    mute_faults: tuple[tuple[str, str], ...]
    reasons: tuple[Explanation, ...]
    query: str = ""
    found: str = ""

    @property
    def title(self) -> str:
        """The title; it begins with the time of a saved page, or says that the page is old."""
        if not self.about.live:
            return f"Saved, {self.at:%Y-%m-%d %H:%M} UTC: {self.verdict} · status reporter"
        return f"{'OLD · ' if self.about.is_old else ''}{self.verdict} · status reporter"

    @property
    def unknown_by_cause(self) -> list[tuple[str, str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for resource, cause in self.unknown:
            found[cause].append(resource)
        return [(cause, ", ".join(resources)) for cause, resources in found.items()]


LONGEST: Final = 200
"""Most characters of a query; the rest is ignored."""

_Pairs = tuple[tuple[str, str], ...]


def filtered(view: PageView, query: str) -> PageView:
    """Return the entries that contain `query`. A cause stays if a finding below it matches. The
    verdict and the counts at the top stay those of the whole cluster.
    """
    query = query.strip()[:LONGEST]
    if not query:
        return view
    wanted = query.casefold()

    def has(*texts: str) -> bool:
        return any(wanted in text.casefold() for text in texts)

    def names(finding: FindingView) -> bool:
        texts = (finding.subject, finding.message, finding.object, finding.mark.word)
        return has(finding.finding.reason, *texts) or any(map(names, finding.below))

    def names_tile(tile: Tile) -> bool:
        lines = (text for line in tile.lines for text in (line.reason, line.mark.word))
        return has(f"{tile.namespace}/{tile.name}", tile.mark.word, tile.caveat, *lines)

    def group(each: SubjectGroup) -> SubjectGroup:
        ready = tuple(pair for pair in each.ready if has("/".join(pair)))
        return replace(each, tiles=tuple(filter(names_tile, each.tiles)), ready=ready)

    def pairs(listed: _Pairs) -> _Pairs:
        return tuple(pair for pair in listed if has(*pair))

    layers = tuple(replace(each, groups=tuple(map(group, each.groups))) for each in view.layers)
    groups = [each for layer in layers for each in layer.groups]
    places = {tile.namespace for each in groups for tile in each.tiles}
    places |= {namespace for each in groups for namespace, _ in each.ready}
    lanes = tuple(each for each in view.path.lanes if has(each.words) or each.name in places)
    well = tuple(each for each in view.path.well if has(each) or each in places)
    rows = tuple(each for each in view.strip.rows if has(each.reason, each.subject))
    causes = tuple(filter(names, view.causes))
    narrowed = replace(
        view,
        query=query,
        causes=causes,
        notices=tuple(filter(names, view.notices)),
        not_seen=tuple(filter(names, view.not_seen)),
        others=tuple(filter(names, view.others)),
        path=replace(view.path, lanes=lanes, well=well),
        layers=layers,
        strip=replace(view.strip, rows=rows),
        unknown=pairs(view.unknown),
        skipped=pairs(view.skipped),
        mutes=pairs(view.mutes),
        mute_faults=pairs(view.mute_faults),
    )
    named = set(_reasons((*causes, *narrowed.notices, *narrowed.not_seen, *narrowed.others)))
    reasons = tuple(each for each in view.reasons if each.reason in named)
    count = sum(len(each.tiles) + len(each.ready) for each in groups)
    found = f"{len(causes)} of {counted(len(view.causes), 'cause')}, {counted(count, 'subject')}."
    return replace(narrowed, reasons=reasons, found=found)


def _reasons(findings: Iterable[FindingView]) -> Iterable[str]:
    for each in findings:
        yield each.finding.reason
        yield from _reasons(each.below)
