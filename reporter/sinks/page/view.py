"""What the page shows, as plain values: made from a report, drawn as HTML, decided nowhere else."""

from dataclasses import dataclass
from datetime import datetime

from reporter.sinks.page.marks import Mark


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
        version: of the program.
        leading: whether the replica writes; None where nobody does.
        notes: what else the reader should know, one sentence each.
        live: a daemon serves the page, so that it can say what changes.
        lost: what the report shows as it was read before its connection was lost.

    """

    time: str = ""
    version: str = ""
    leading: bool | None = None
    notes: tuple[str, ...] = ()
    live: bool = False
    lost: Lost | None = None


@dataclass(frozen=True, slots=True)
class Explained:
    """How much a cause explains: the same numbers as in its message.

    Attributes:
        suppressed: findings that it suppresses.
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
        fires_at: when it fires or its hold ends at the earliest.
        to_do: what to do, empty where the catalogue does not know its reason.
        commands: what to type to look at the object at fault; none where its name is not proper.
        below: what it suppresses, holds or outranks.
        impact: whom a cause hits; empty for what is no cause.
        explained: how much a cause explains.

    """

    id: str
    reason: str
    mark: Mark
    subject: str
    message: str
    cause: str
    since: datetime
    age_known: bool
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


@dataclass(frozen=True, slots=True)
class Link:
    """A line of a tile: it leads to a finding."""

    id: str
    mark: Mark
    reason: str


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
    """The last hour.

    Attributes:
        counts_from: since when episodes that are over were seen, None where there was one look.
        more: how many rows are left out.
        recorded: Events tell of those before.

    """

    begin: datetime
    end: datetime
    counts_from: datetime | None
    rows: tuple[StripRow, ...]
    more: int
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
        verdict: one sentence.
        mark: the worst state of all.
        rest: how many findings are in which other state.
        models: how many models serve.
        causes: the faults that fire, each with what it explains below it.
        notices: what fires and is no fault.
        not_seen: what the reporter cannot see, which is no cause of the stack.
        others: what does not fire and has nothing above it on the page.
        unknown: a resource and why it cannot be read.
        skipped: an object and what is wrong with it.
        mutes: where a mute is and until when, and the reasons.
        mute_faults: an object and what is wrong with its mute.
        query: what the page was narrowed to.

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
    layers: tuple[LayerView, ...]
    strip: Strip
    unknown: tuple[tuple[str, str], ...]
    skipped: tuple[tuple[str, str], ...]
    mutes: tuple[tuple[str, str], ...]
    mute_faults: tuple[tuple[str, str], ...]
    reasons: tuple[Explanation, ...]
    query: str = ""
