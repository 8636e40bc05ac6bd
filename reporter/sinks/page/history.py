"""Which episodes there were lately, from one report to the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from reporter.model.finding import FindingKey
from reporter.model.report import Disposition, Report, ResolvedFinding

KEPT: Final = timedelta(hours=1)
"""How long an episode that is over is kept."""

MOST: Final = 500
"""Most episodes that are over and kept; the newest stay."""

_FIRES: Final = frozenset({Disposition.FIRING, Disposition.CLEARING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A finding that fired; `ended` is None while it does, or clears."""

    finding: ResolvedFinding
    began: datetime
    ended: datetime | None = None


@dataclass(frozen=True, slots=True)
class History:
    """The episodes that go on, and those that ended within `KEPT`.

    Attributes:
        counts_from: time of the first report, None before it. What had ended by then is not here.
        going_on: by key.
        over: the one that ended last comes last.

    """

    counts_from: datetime | None = None
    going_on: Mapping[FindingKey, Episode] = field(default_factory=dict)
    over: tuple[Episode, ...] = ()

    @classmethod
    def of(cls, report: Report) -> "History":
        """Return what one report tells, where there was none before it and none will follow."""
        return replace(cls().after(report), counts_from=None)

    def after(self, report: Report) -> "History":
        """Return the history that includes a report, which is newer than all before."""
        going_on: dict[FindingKey, Episode] = {}
        ended: list[Episode] = []
        for finding in report.findings:
            if finding.disposition in _FIRES:
                before = self.going_on.get(finding.key)
                if before is not None and before.began != finding.since:
                    # It ended and began anew between two reports.
                    ended.append(replace(before, ended=finding.since))
                going_on[finding.key] = Episode(finding=finding, began=finding.since)
        for key, episode in self.going_on.items():
            if key not in going_on:
                ended.append(replace(episode, ended=report.now))
        oldest = report.now - KEPT
        over = tuple(
            each for each in (*self.over, *ended) if each.ended is not None and each.ended > oldest
        )
        return History(self.counts_from or report.now, going_on, over[-MOST:])
