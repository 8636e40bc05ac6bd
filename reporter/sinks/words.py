"""A report in words, for the text, the page and the Events."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from reporter.catalogue.ways import clients_get
from reporter.model.catalogue import Catalogue
from reporter.model.commands import describe_command, is_name
from reporter.model.instant import rfc3339
from reporter.model.reason import EventType
from reporter.model.report import (
    NOT_IN_DUMP,
    WORST_FIRST,
    Disposition,
    Impact,
    Mute,
    MuteFault,
    Report,
    ResolvedFinding,
    ServingState,
    UnknownResource,
)
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, Layer, Subject
from reporter.model.text import clean
from reporter.probes.cluster.blindness import NO_FAULT
from reporter.workload.components import NEEDED_BY

_POD: Final = "<pod>"


def action_of(finding: ResolvedFinding, catalogue: Catalogue) -> str:
    """Return what to do: the diagnosis' action, or else the catalogue's with the names filled in.
    If that is about a pod and the object at fault is not a pod, such as a Workspace without one, it
    is that object to look at.
    """
    if finding.diagnosis is not None and finding.diagnosis.action:
        return finding.diagnosis.action
    if finding.reason not in catalogue:
        return ""
    action = catalogue[finding.reason].action
    related = finding.related
    kind = related.kind.lower()
    named = related.name
    known = {f"<{kind}>": named, "<namespace>": related.namespace or finding.subject.namespace}
    if f"{kind} <name>" in action or finding.layer is Layer.CLUSTER:
        known["<name>"] = named
    elif f"{finding.subject.kind} <name>" in action:
        known["<name>"] = finding.subject.name
    if _POD in action and _POD not in known:
        action = _without_pod(action, describe_command(related))
    for placeholder, name in known.items():
        # Only a valid name may go into a command that is copied into a shell.
        action = action.replace(placeholder, name if is_name(name) else placeholder)
    return action


def _without_pod(action: str, command: str) -> str:
    """Return what to do if no pod is at fault: a command replaces the sentences about a pod."""
    if not command:
        return action
    rest = [each for each in action.split(". ") if _POD not in each]
    return ". ".join([f"{command}: no pod is at fault", *(rest or [""])]).rstrip()


_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

_STEPS: Final = (
    # below, unit, its letter, smaller unit, its letter
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def age(passed: timedelta) -> str:
    """Return an elapsed time as kubectl writes it (k8s.io/apimachinery, pkg/util/duration)."""
    seconds = int(passed.total_seconds())
    if passed < timedelta(seconds=-1):
        return "<invalid>"
    seconds = max(0, seconds)
    for below, unit, letter, smaller, smaller_letter in _STEPS:
        if seconds < below:
            whole = f"{seconds // unit}{letter}"
            rest = seconds % unit // smaller if smaller else 0
            return f"{whole}{rest}{smaller_letter}" if rest else whole
    return f"{seconds // _YEAR}y"


def change_lines(finding: ResolvedFinding) -> tuple[str, ...]:
    return tuple(each.seen_from(finding.related) for each in finding.changes)


def further_changes(finding: ResolvedFinding) -> tuple[str, ...]:
    lines = change_lines(finding)
    return tuple(each for each in lines if _in_message(each) not in finding.message)


def without_changes(finding: ResolvedFinding) -> str:
    message = finding.message
    for each in change_lines(finding):
        message = message.replace(_in_message(each), "", 1)
    return message


def _in_message(change: str) -> str:
    return f" ({change})"


PROSE_COLUMNS: Final = 100
"""Most columns of running text; longer lines are hard to read."""

NO_BREAK: Final = "\u00a0"
"""Stands for a space at which a line is not broken."""

_WORD: Final = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
"""A word of a shell command, with its quoted parts."""


def wrapped(text: str, columns: int | None, indent: str = "") -> list[str]:
    """Return wrapped lines. A word that is too long stays whole, as does text with `NO_BREAK` if it
    fits into a line.
    """
    width = min(columns or PROSE_COLUMNS, PROSE_COLUMNS)
    if columns is not None:
        room = width - len(indent)
        words = (
            each.replace(NO_BREAK, " ") if len(each) > room else each for each in text.split(" ")
        )
        text = " ".join(words)
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(NO_BREAK, " ") for line in lines]


def command_lines(command: str, columns: int | None, indent: str = "") -> list[str]:
    """Return a command to be copied into a shell, with line continuations where it does not fit.

    It is never broken inside quotes, and not at all without a terminal.
    """
    whole = f"{indent}$ {command}"
    if columns is None or len(whole) <= columns:
        return [whole]
    lines, line = [], f"{indent}$"
    for word in _WORD.findall(command):
        if len(f"{line} {word} \\") > columns and line.strip() != "$":
            lines.append(f"{line} \\")
            line = f"{indent}   "
        line = f"{line} {word}"
    return [*lines, line]


def stacked(cells: Sequence[str], columns: int | None, indent: str = "") -> list[str]:
    lines, line = [], indent + cells[0]
    for cell in filter(None, cells[1:]):
        if columns is not None and len(line) + 2 + len(cell) > columns:
            lines.append(line)
            *more, line = wrapped(cell, columns, f"{indent}  ")
            lines += more
        else:
            line = f"{line}  {cell}"
    return [*lines, line]


def table_rows(
    rows: Sequence[Sequence[str]], columns: int | None, indent: str = "", *, gap: int = 2
) -> list[list[str]]:
    """Return the lines of each row; if the table does not fit, all rows are stacked."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    widest = max(len(indent) + sum(widths) + 2 * len(widths) + len(row[-1]) for row in rows)
    if columns is not None and widest > columns:
        return [stacked(row, columns, indent) for row in rows]
    padded = (
        [*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]
        for row in rows
    )
    return [[f"{indent}{(' ' * gap).join(each)}".rstrip()] for each in padded]


NOBODY: Final = "no models affected so far"
_ABOVE: Final = frozenset({CLUSTER_KIND, NAMESPACE_KIND})


def impact_line(finding: ResolvedFinding, report: Report) -> str:
    """Return the impact of a finding. For a model's own fault it is the model's state, and the
    reason why it does not serve if that is another one.
    """
    if finding.impact is None:
        return ""
    if finding.layer is not Layer.DEPLOYMENT:
        code = clients_get(finding.reason) if finding.impact.not_serving else ""
        answer = f"; clients get: {code}" if code else ""
        hit = impact_text(finding.impact)
        if hit == NOBODY and is_needed(finding):
            hit = "what needs it; no other model affected so far"
        return f"Impact: {hit}{answer}"
    each = report.state_of.get(finding.subject)
    if each is None:
        return f"State: {ServingState.UNKNOWN.word}"
    other = each.cause if each.cause != finding.reason else ""
    because = f", because of {other}" if other and each.state is ServingState.NOT_SERVING else ""
    return f"State: {each.state.word}{because}"


def in_one_line(finding: ResolvedFinding) -> str:
    """Return the object and its cause, which does not repeat the object's name at its start."""
    return clean(f"{finding.related}: {finding.cause.removeprefix(f'{finding.related.name} ')}")


def is_needed(finding: ResolvedFinding) -> bool:
    return NEEDED_BY in finding.message


def impact_text(impact: Impact) -> str:
    """Return whom a cause hits: `12 models in 4 namespaces do not serve`."""
    out, worse, more = impact.not_serving, impact.degraded, impact.otherwise
    hit = _hit(impact) if out or worse else ""
    if not more:
        return hit or NOBODY
    others = f"{'does' if more == 1 else 'do'} not serve for other causes"
    if not hit:
        return f"{counted(more, 'model')} {others}"
    return f"{hit}{' because of it' if out and not worse else ''}; {more} more {others}"


def _hit(impact: Impact) -> str:
    out, worse = impact.not_serving, impact.degraded
    models = counted(out or worse, "model")
    place = f" in {impact.namespaces} namespaces" if impact.namespaces > 1 else ""
    serve = "serves" if worse == 1 else "serve"
    if not out:
        return f"{models}{place} {serve}, degraded"
    stopped = f"do{'es' if out == 1 else ''} not serve"
    if not worse:
        return f"{models}{place} {stopped}"
    return f"{models} {stopped}, {worse} {serve} degraded{',' if place else ''}{place}"


def models_text(report: Report) -> str:
    """Return the number of models in each state, the worst first; empty if there are no models."""
    counts = Counter(each.state for each in report.states if each.subject.kind not in _ABOVE)
    parts = [f"{counts[each]} {each.word}" for each in WORST_FIRST if counts[each]]
    return f"Models: {', '.join(parts)}." if parts else ""


_NAMED: Final = 3


def where_muted(finding: ResolvedFinding) -> str:
    """Return where a finding, or others of its faults, are muted; empty if nothing is muted."""
    if not finding.mutes:
        return ""
    places = [mute_place(mute) for mute in finding.mutes[:_NAMED]]
    if len(finding.mutes) > _NAMED:
        places.append(f"{len(finding.mutes) - _NAMED} more")
    how = "muted on" if finding.disposition is Disposition.MUTED else "others muted on"
    return f"{how} {', '.join(places)}"


def mute_place(mute: Mute) -> str:
    """Return the object that carries a mute, and when the mute ends."""
    until = f" until {rfc3339(mute.until)}" if mute.until else ""
    return f"{clean(str(mute.object))}{until}"


def mute_line(mute: Mute) -> str:
    return f"{mute_place(mute)}: {', '.join(mute.reasons)}"


def mute_fault_lines(faults: Sequence[MuteFault]) -> list[str]:
    return [f"{clean(str(each.object))}: {clean(each.text)}" for each in faults]


_WORDS: Final = {
    Disposition.SUPPRESSED: "suppressed by",
    Disposition.SECONDARY: "outranked by",
    Disposition.HELD: "waits for",
    Disposition.PENDING: "waits for",
}


def relation(finding: ResolvedFinding) -> str:
    """Return how the reasons in `by` relate to a finding; `outranked by` claims no causality."""
    if not finding.by:
        return ""
    return f"{_WORDS.get(finding.disposition, 'by')} {', '.join(finding.by)}"


NOTHING_FIRES: Final = "Nothing fires"

NO_VERDICT: Final = "no verdict"
"""State of a subject that is neither ready nor at fault."""

NOT_SEEN: Final = "What the reporter cannot see"
"""Title of findings about the reporter, not the stack."""

NOT_ALL_SEEN: Final = "the reporter cannot see everything"


def by_impact(findings: Iterable[ResolvedFinding]) -> list[ResolvedFinding]:
    """Return findings sorted by impact, the largest first; equal ones keep their order."""

    def hit(finding: ResolvedFinding) -> tuple[int, int]:
        impact = finding.impact
        return (-impact.not_serving, -impact.degraded) if impact else (0, 0)

    return sorted(findings, key=hit)


def is_notice(finding: ResolvedFinding) -> bool:
    """Tell whether a finding fires that is not a fault but worth knowing, such as a canary."""
    return finding.disposition is Disposition.FIRING and finding.type is EventType.NORMAL


def verdict(report: Report) -> str:
    """Return how much fires, with causes and notices counted separately.

    `Nothing fires` does not stand alone if a subject has no verdict.
    """
    causes = sum(each.is_cause for each in report.findings)
    notices = sum(map(is_notice, report.findings))
    fire = [counted(n, word) for n, word in ((causes, "cause"), (notices, "notice")) if n]
    if fire:
        return f"{' and '.join(fire)} {'fires' if causes + notices == 1 else 'fire'}"
    without = len(without_verdict(report))
    if not without:
        return NOTHING_FIRES
    have = "has" if without == 1 else "have"
    return f"{NOTHING_FIRES}, but {counted(without, 'subject')} {have} {NO_VERDICT}"


def without_verdict(report: Report) -> list[Subject]:
    """Return the subjects neither ready nor at fault: they start, or depend on unknowns."""
    judged = {each.subject for each in report.findings} | {each.subject for each in report.ready}
    return sorted(set(report.subjects) - judged)


@dataclass(frozen=True, slots=True)
class WithoutVerdict:
    """Models that have no verdict because something could not be read, and the `kinds` of models
    that could not be read, so that the models themselves are unknown.
    """

    models: tuple[Subject, ...]
    kinds: tuple[UnknownResource, ...]
    unread: tuple[UnknownResource, ...]

    def __bool__(self) -> bool:
        return bool(self.models or self.kinds)


def models_without_verdict(report: Report) -> WithoutVerdict:
    """Return the models without a verdict, and the unread resources that they depend on.

    A model that only starts is not one of them. The cluster and namespaces have their own lines in
    the report and do not count: with `-n` the cluster never has a verdict.
    """
    not_tried = NO_FAULT - {NOT_IN_DUMP}
    unknown = {each.resource: each for each in report.unknown if each.cause not in not_tried}
    models: list[Subject] = []
    unread: set[UnknownResource] = set()
    for subject in without_verdict(report):
        if subject.kind in {CLUSTER_KIND, NAMESPACE_KIND}:
            continue
        reads = {
            str(each)
            for reason in report.catalogue.of_ready(subject.kind)
            for each in reason.all_reads
        }
        if found := reads & unknown.keys():
            models.append(subject)
            unread.update(unknown[each] for each in found)
    kinds = tuple(sorted(set(_kinds_unread(report, unknown.values()))))
    return WithoutVerdict(tuple(models), kinds, tuple(sorted(unread.union(kinds))))


def _kinds_unread(report: Report, unknown: Iterable[UnknownResource]) -> Iterator[UnknownResource]:
    of_models = {
        str(resource)
        for kind in report.catalogue.kinds
        if kind not in {CLUSTER_KIND, NAMESPACE_KIND}
        for resource in report.catalogue.of_subject(kind)
    }
    # A kind that is not in the dump may not exist in the cluster either.
    return (each for each in unknown if each.resource in of_models and each.cause != NOT_IN_DUMP)


def why_without_verdict(report: Report, found: WithoutVerdict) -> str:
    names = [str(each) for each in found.models] or [each.resource for each in found.kinds]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    have = "have" if more else "has"
    what = f"{names[0]}{more} {have} {NO_VERDICT}"
    if not found.models:
        what = f"it is unknown which models there are: {names[0]}{more} could not be read"
    absent = [each.resource for each in found.unread if each.cause == NOT_IN_DUMP]
    refused = [
        each.message
        for each in report.findings
        if each.is_blind and any(one.resource in each.message for one in found.unread)
    ]
    causes = refused[:1]
    if absent:
        causes.append(
            f"not in the dump: {', '.join(absent)}; add what this prints: "
            f"kubectl get {','.join(absent)} -A -o yaml"
        )
    if not causes:
        causes = [
            f"could not be read: {', '.join(f'{e.resource} ({e.cause})' for e in found.unread)}"
        ]
    return clean(f"{what}. {'. '.join(causes)}. To exit with 0 all the same: --allow-unknown")


def counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
