"""Whom a cause hits, and how many models serve, in words."""

from collections import Counter
from typing import Final

from reporter.model.report import WORST_FIRST, Impact, Report, ResolvedFinding, ServingState
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer

NOBODY: Final = "no model is known to be hit"


_ABOVE: Final = frozenset({CLUSTER_KIND, NAMESPACE_KIND})


def impact_line(finding: ResolvedFinding, report: Report) -> str:
    """Return whom a cause hits, as a line; empty for what is no cause.

    Of a model's own fault only its state is said: which of its faults it is for is not known.
    """
    if finding.impact is None:
        return ""
    if finding.layer is not Layer.DEPLOYMENT:
        return f"Impact: {impact_text(finding.impact)}"
    states = (each.state for each in report.states if each.subject == finding.subject)
    return f"State: {next(states, ServingState.UNKNOWN).word}"


def impact_text(impact: Impact) -> str:
    """Return whom a cause hits: `12 models in 4 namespaces do not serve`."""
    out, worse = impact.not_serving, impact.degraded
    if not out and not worse:
        return NOBODY
    count = out or worse
    models = f"{count} model{'' if count == 1 else 's'}"
    place = f"in {impact.namespaces} namespaces" if impact.namespaces > 1 else ""
    if not out:
        return f"{_joined(models, place)} {_serve(worse)}, degraded"
    stopped = f"do{'es' if out == 1 else ''} not serve"
    if not worse:
        return f"{_joined(models, place)} {stopped}"
    return ", ".join(
        filter(None, (f"{models} {stopped}", f"{worse} {_serve(worse)} degraded", place))
    )


def _serve(count: int) -> str:
    return "serves" if count == 1 else "serve"


def _joined(*words: str) -> str:
    return " ".join(filter(None, words))


def models_text(report: Report) -> str:
    """Return how many models are in which state, the worst first; empty where there is none."""
    counts = Counter(each.state for each in report.states if each.subject.kind not in _ABOVE)
    told = [f"{counts[each]} {each.word}" for each in WORST_FIRST if counts[each]]
    return f"Models: {', '.join(told)}." if told else ""
