"""Which finding hangs below which: by the reasons that the report names in `by`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reporter.model.catalogue import Catalogue
from reporter.model.report import Disposition, ResolvedFinding
from reporter.model.subject import CLUSTER, Subject

_Places: TypeAlias = Mapping[tuple[str, Subject], Sequence[ResolvedFinding]]
"""Findings by reason and subject."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A finding, and those that are suppressed, held or outranked by it."""

    finding: ResolvedFinding
    below: tuple["Branch", ...] = ()

    def walk(self) -> Iterator["Branch"]:
        """Yield this branch and all below it."""
        yield self
        for each in self.below:
            yield from each.walk()


def grow(findings: Iterable[ResolvedFinding], catalogue: Catalogue) -> tuple[Branch, ...]:
    """Return every finding once: those with nothing above them, the causes first, as they come.

    A finding with several upstreams hangs below the one that comes first in the catalogue.
    """
    listed = tuple(findings)
    rest = (each for each in listed if not each.is_cause)
    ordered = [each for each in listed if each.is_cause]
    ordered += sorted(rest, key=lambda each: _order(each, catalogue))
    places: dict[tuple[str, Subject], list[ResolvedFinding]] = defaultdict(list)
    for finding in ordered:
        places[finding.reason, finding.subject].append(finding)
    above: dict[int, ResolvedFinding] = {}
    for finding in ordered:
        upstream = _upstream(finding, places, catalogue)
        if upstream is not None and not _is_below(upstream, finding, above):
            above[id(finding)] = upstream
    below: dict[int, list[ResolvedFinding]] = defaultdict(list)
    for finding in ordered:
        if id(finding) in above:
            below[id(above[id(finding)])].append(finding)
    return tuple(_branch(each, below) for each in ordered if id(each) not in above)


def _is_below(
    finding: ResolvedFinding, other: ResolvedFinding, above: dict[int, ResolvedFinding]
) -> bool:
    step: ResolvedFinding | None = finding
    while step is not None and step is not other:
        step = above.get(id(step))
    return step is other


def _order(finding: ResolvedFinding, catalogue: Catalogue) -> tuple[bool, int, object]:
    fires = finding.disposition is Disposition.FIRING
    return not fires, catalogue.rank(finding.reason), finding.key


def _branch(finding: ResolvedFinding, below: dict[int, list[ResolvedFinding]]) -> Branch:
    return Branch(finding, tuple(_branch(each, below) for each in below[id(finding)]))


def _upstream(
    finding: ResolvedFinding, places: _Places, catalogue: Catalogue
) -> ResolvedFinding | None:
    subject = finding.subject
    governing = dict.fromkeys((CLUSTER, Subject.of_namespace(subject.namespace), subject))
    for name in sorted(finding.by, key=catalogue.rank):
        upstreams = [each for place in governing for each in places.get((name, place), ())]
        found = _nearest(finding, upstreams)
        if found is not None:
            return found
    return None


def _nearest(
    finding: ResolvedFinding, upstreams: Sequence[ResolvedFinding]
) -> ResolvedFinding | None:
    """Return the upstream whose subject is nearest, the one that fires before the others."""
    return min(upstreams, key=lambda each: _distance(each, finding), default=None)


def _distance(upstream: ResolvedFinding, finding: ResolvedFinding) -> tuple[bool, bool, bool]:
    return (
        upstream.subject != finding.subject,
        upstream.related != finding.related,
        upstream.disposition is not Disposition.FIRING,
    )
