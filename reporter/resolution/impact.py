"""Rule 8: whom each cause hits, and the order of causes that follows from it.

A cause hits the deployments that it explains, that is those with a finding that it suppresses or
holds, and those that rest on what is at fault: its own subject, the models behind a Gateway, and for
a part of the cluster that requests pass through every model that is reached through a Gateway. Of
those only the ones count that do not serve, or serve degraded.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias

from reporter.model.catalogue import Catalogue, Priority
from reporter.model.finding import FindingKey
from reporter.model.report import Disposition, Impact, ResolvedFinding, ServingState, SubjectState
from reporter.model.subject import Layer, Subject
from reporter.resolution.hold import explainers, upstream_key
from reporter.resolution.memory import UpstreamKey
from reporter.resolution.state import PassState
from reporter.resolution.subject_states import PassEvidence, is_deployment, judge_states, layer_rank

_Order: TypeAlias = tuple[int, bool, int, int, Priority, datetime, FindingKey]

_BEHIND: Final = frozenset({Disposition.SUPPRESSED, Disposition.HELD, Disposition.PENDING})
"""Dispositions of what an upstream keeps from being told; not of what its own subject outranks."""


@dataclass(frozen=True, slots=True)
class Impacts:
    """The findings, the causes in front with whom they hit, and the state of each subject."""

    findings: tuple[ResolvedFinding, ...]
    states: tuple[SubjectState, ...]


def judge_impact(state: PassState, findings: Iterable[ResolvedFinding]) -> Impacts:
    """Return whom each cause hits, put the causes into their order, and mark the primary ones."""
    listed = tuple(findings)
    evidence = PassEvidence.of(state)
    faults = _Faults.of(state)
    causes = [each for each in listed if each.is_cause]
    resting = {each.key: frozenset(_resting(each, evidence, faults)) for each in causes}
    burdened = frozenset[Subject]().union(*resting.values())
    states = judge_states(state, listed, evidence, hit=burdened)
    explained = _explained(listed, evidence, state.catalogue)
    serving = {each.subject: each.state for each in states}
    weighed: list[ResolvedFinding] = []
    for cause in causes:
        hit = resting[cause.key].union(explained.get(upstream_key(cause.key), ()))
        weighed.append(replace(cause, impact=_impact(hit, serving)))
    weighed.sort(key=lambda each: _order(each, faults, state.catalogue))
    rest = (replace(each, impact=None, primary=False) for each in listed if not each.is_cause)
    return Impacts((*_with_primary(weighed), *rest), states)


@dataclass(frozen=True, slots=True)
class _Faults:
    """What the faults that are seen say beyond the findings.

    Attributes:
        stopping: of parts that requests pass through, those of which nothing works.
        unneeded: what nothing in the cluster uses.

    """

    stopping: frozenset[FindingKey]
    unneeded: frozenset[FindingKey]

    @classmethod
    def of(cls, state: PassState) -> "_Faults":
        """Return them; the part that only writes statuses is in no request's way."""
        return cls(
            stopping=frozenset(
                each.key
                for each in state.candidates
                if each.reason.on_path
                and any(fault.says.down and not fault.says.governs for fault in each.ripe)
            ),
            unneeded=frozenset(
                each.key
                for each in state.candidates
                if all(fault.says.unneeded for fault in each.faults)
            ),
        )


def _resting(cause: ResolvedFinding, evidence: PassEvidence, faults: _Faults) -> Iterable[Subject]:
    """Return the deployments that rest on what is at fault."""
    match cause.layer:
        case Layer.DEPLOYMENT:
            return (cause.subject,)
        case Layer.HARNESS:
            return evidence.behind(cause)
        case _ if cause.key in faults.stopping:
            return {each for entering in evidence.entering.values() for each in entering}
        case _:
            return ()


def _explained(
    findings: Iterable[ResolvedFinding], evidence: PassEvidence, catalogue: Catalogue
) -> Mapping[UpstreamKey, set[Subject]]:
    """Return the deployments with a finding that each upstream suppresses or makes wait."""
    explained: dict[UpstreamKey, set[Subject]] = defaultdict(set)
    for finding in findings:
        if not finding.by or finding.disposition not in _BEHIND:
            continue
        of_deployment = is_deployment(finding.subject)
        hit = (finding.subject,) if of_deployment else evidence.behind(finding)
        for upstream in explainers(finding.reason, finding.by, catalogue, nodes=finding.nodes):
            explained[upstream].update(hit)
    return explained


def _impact(hit: Iterable[Subject], serving: Mapping[Subject, ServingState]) -> Impact:
    states = {each: serving.get(each) for each in hit}
    counts = Counter(states.values())
    return Impact(
        not_serving=counts[ServingState.NOT_SERVING],
        degraded=counts[ServingState.DEGRADED],
        namespaces=len(
            {each.namespace for each, state in states.items() if state and state.is_impaired}
        ),
    )


def _order(cause: ResolvedFinding, faults: _Faults, catalogue: Catalogue) -> _Order:
    """Return the place of a cause: what nothing uses comes last in its layer."""
    impact = cause.impact or Impact()
    return (
        layer_rank(cause.layer),
        cause.key in faults.unneeded,
        -impact.not_serving,
        -impact.degraded,
        catalogue.priority(cause.reason),
        cause.since,
        cause.key,
    )


def _with_primary(causes: Iterable[ResolvedFinding]) -> Iterator[ResolvedFinding]:
    """Yield the causes, of each subject the first one marked; one that is stale only where all are."""
    ordered = tuple(causes)
    first: dict[Subject, FindingKey] = {}
    for cause in sorted(ordered, key=lambda each: each.stale):
        first.setdefault(cause.subject, cause.key)
    for cause in ordered:
        yield replace(cause, primary=first[cause.subject] == cause.key)
