"""What the page shows, as plain values: made from a report, drawn as HTML, decided nowhere else.

How a state looks: a word and a shape, never a colour alone.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from reporter.model.reason import EventType
from reporter.model.report import ResolvedFinding
from reporter.sinks.words import NO_VERDICT, is_blind


@dataclass(frozen=True, slots=True)
class Mark:
    """A state.

    Attributes:
        name: of its shape in the style sheet and of its symbol.
        rank: the smaller, the more it asks for attention.

    """

    name: str
    word: str
    rank: int


FIRING: Final = Mark("firing", "firing", 0)
DEGRADED: Final = Mark("degraded", "degraded", 1)
"""Of a stage on the way of requests, or a subject: it works, with a fault."""

NOTICE: Final = Mark("notice", "notice", 1)
PENDING: Final = Mark("pending", "pending", 2)
CLEARING: Final = Mark("clearing", "clearing", 3)
HELD: Final = Mark("held", "held", 4)
SECONDARY: Final = Mark("secondary", "secondary", 5)
SUPPRESSED: Final = Mark("suppressed", "suppressed", 6)
MUTED: Final = Mark("muted", "muted", 7)
UNKNOWN: Final = Mark("unknown", NO_VERDICT, 8)
BLIND: Final = Mark("unknown", "not seen", 8)
"""What the reporter cannot see: it looks like what has no verdict."""

READY: Final = Mark("ready", "ready", 9)

ALL: Final = (
    FIRING, DEGRADED, NOTICE, PENDING, CLEARING, HELD, SECONDARY, SUPPRESSED, MUTED, UNKNOWN, READY,
)  # fmt: skip
_BY_DISPOSITION: Final = {mark.name: mark for mark in ALL}


def mark_of(finding: ResolvedFinding) -> Mark:
    """Return the state of a finding."""
    mark = _BY_DISPOSITION.get(str(finding.disposition), UNKNOWN)
    if mark is not FIRING:
        return mark
    if is_blind(finding):
        return BLIND
    return NOTICE if finding.type is EventType.NORMAL else mark


@dataclass(frozen=True, slots=True)
class Lost:
    """What may have changed and was not read since.

    Attributes:
        since: when something came of it last.
        resources: what it is; empty where it is all.

    """

    since: datetime
    resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportOrigin:
    """Where a report is from.

    Attributes:
        time: what its time is, in words, where it is not the present.
        leading: whether the replica writes; None where nobody does.
        notes: what else the reader should know, one sentence each.
        live: a daemon serves the page, so that it can say what changes.
        lost: what the report shows as it was read before its connection was lost.
        overdue: the daemon answers, and its passes have stopped: the report is old.

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
        """Whether nothing on the page can be trusted to be so still."""
        return self.overdue or (self.lost is not None and not self.lost.resources)


@dataclass(frozen=True, slots=True)
class Explained:
    """How much a cause explains: the same numbers as in its message.

    Attributes:
        namespaces: where those are.
        waiting: findings that are held or in their grace behind it.

    """

    suppressed: int = 0
    namespaces: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """A finding, ready to be drawn.

    Attributes:
        id: of its element; the same for the same finding on every page.
        relation: why it does not fire, such as `suppressed by <reason>`; of one that fires, where
            others of its faults are muted.
        to_do: what to do, empty where the catalogue does not know its reason.
        commands: what to type to look at the object at fault; none where its name is not proper.
        impact: whom a cause hits, or the state of the model; empty for what is no cause.
        changes: what changed shortly before, the likeliest first.
        last_words: the last lines of the log of the one pod that a cause names.

    """

    id: str
    reason: str
    mark: Mark
    subject: str
    message: str
    cause: str
    since: datetime
    age_known: bool
    not_before: datetime | None
    fires_at: datetime | None
    relation: str
    stale: bool
    means: str
    to_do: str
    object: str
    commands: tuple[str, ...]
    below: tuple["FindingView", ...] = ()
    impact: str = ""
    explained: Explained = Explained()
    changes: tuple[str, ...] = ()
    last_words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A line of a tile: it leads to a finding."""

    id: str
    mark: Mark
    reason: str


@dataclass(frozen=True, slots=True)
class Station:
    """A stage on the way of a namespace's requests.

    Attributes:
        mark: red where requests stop.
        id: of the finding to look at; empty where there is none.

    """

    title: str
    mark: Mark
    text: str
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """The way of the requests of one namespace, or of all where what is shared stops them.

    Attributes:
        stations: in the order in which requests pass.
        rank: of its worst mark.

    """

    name: str
    stations: tuple[Station, ...]
    serving: str
    rank: int
    stopped: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PathView:
    """Where requests stop.

    Attributes:
        shared_mark: the worst of these.
        lanes: of namespaces with a fault, those where most stops first.

    """

    shared: tuple[Link, ...]
    shared_mark: Mark
    lanes: tuple[Lane, ...]
    well: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """A subject about which there is something to say."""

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
    """The subjects of one kind, those with something to say before the ready ones."""

    id: str
    title: str
    tiles: tuple[Tile, ...]
    ready: tuple[tuple[str, str], ...]
    """Namespace and name of each subject that is ready and of which nothing else is said."""

    counts: tuple[tuple[Mark, int], ...]
    """How many findings are in which state, and how many subjects are ready or without verdict."""


@dataclass(frozen=True, slots=True)
class LayerView:
    """A layer, with a group for each kind of subject in it."""

    id: str
    title: str
    groups: tuple[SubjectGroup, ...]
    counts: tuple[tuple[Mark, int], ...]


@dataclass(frozen=True, slots=True)
class Span:
    """Part of the strip, in seconds from its left end; open where the episode goes on."""

    begin: int
    end: int
    open: bool


@dataclass(frozen=True, slots=True)
class StripRow:
    """The episodes of one reason and subject."""

    id: str
    mark: Mark
    reason: str
    subject: str
    spans: tuple[Span, ...]
    told: str
    """The same in words."""


@dataclass(frozen=True, slots=True)
class Strip:
    """The last day.

    Attributes:
        counts_from: since when episodes that are over were seen, None where there was one look.
        recorded: Events tell of those before.

    """

    begin: datetime
    end: datetime
    counts_from: datetime | None
    rows: tuple[StripRow, ...]
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the catalogue says of a reason: titled sentences."""

    reason: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """The whole page.

    Attributes:
        mark: the worst state of all.
        causes: the faults that fire, each with what it explains below it.
        notices: what fires and is no fault.
        not_seen: what the reporter cannot see, which is no cause of the stack.
        others: what does not fire and has nothing above it on the page.
        mutes: where a mute is and until when, and the reasons.
        path: where requests stop.

    """

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
