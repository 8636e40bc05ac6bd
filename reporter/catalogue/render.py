"""The catalogue for readers: `status-reporter explain` and `docs/reasons.md`."""

import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from reporter.catalogue.render_needs import missed_where
from reporter.catalogue.runbook import looks, switched_off, users_get
from reporter.model.catalogue import Catalogue
from reporter.model.reason import Reason, SuppressionRow, Threshold
from reporter.model.subject import CLUSTER_KIND, NAMESPACE_KIND, SubjectKind

_WIDTH: Final = 100
_MARGIN: Final = 22
_UPPER_LAYERS: Final = {
    CLUSTER_KIND: "the shared control plane",
    NAMESPACE_KIND: "the entrance of one workload namespace",
}
_FOLDED: Final = frozenset({"Suppresses", "Suppressed by", "Missed where"})
"""Facts that are lists too long for a table."""
_USUAL: Final = frozenset(
    {
        ("Grace", "The global one, --startup-grace-seconds."),
        ("Grace", "The window is the grace."),
        ("Blocks Ready", "yes"),
        ("In the chain", "yes"),
    }
)
"""Facts that the index says once, for every reason without a row of its own."""
_OF_THE_STACK: Final = frozenset({"Reads", "Suppressed by", "Suppresses"})
"""Facts in which reasons from metrics differ from stack to stack, by their names alone."""

_STACK_HEAD: Final = """\
# Reasons: {title}

Rendered from the catalogue (`make docs`). The index of all reasons, and what holds where a table has no
row for it, is in [reasons.md](reasons.md).
"""
_DECLARED: Final = "by you, in custom-components of the file of --config"
_MARKDOWN_HEAD: Final = """\
# Reasons

The closed vocabulary of the status reporter: each Event carries one of these reasons. This page is
rendered from the catalogue (`make docs`); `status-reporter explain <reason>` shows the same.

For each kind of subject the reasons stand in the order of the priority chain. A reason outside of the chain is
written in addition. Which models a cause hits, the report says itself (`impact`).

Where a table has no row for it:

- **Grace**: the global one, `--startup-grace-seconds`; of a reason with a window, the window.
- **Blocks Ready** and **In the chain**: yes. A reason that says that all is well has neither, and no grace.
- **Switch off**: `--disable-reasons REASON`; for one object the annotation `status-reporter.io/mute` on it
  ([mutes](events.md#mutes-living-with-a-known-fault)). The report shows it all the same.
"""


def reason_text(reason: Reason, catalogue: Catalogue) -> str:
    """Return everything the catalogue says about a reason, for a terminal."""
    lines = [f"{reason.name} ({reason.layer}, {reason.type})", ""]
    for title, text in facts(reason, catalogue):
        lines += textwrap.wrap(
            text,
            _WIDTH,
            initial_indent=f"{title + ':':{_MARGIN}}",
            subsequent_indent=" " * _MARGIN,
            break_long_words=False,
            break_on_hyphens=False,
        )
    for number, command in enumerate(looks(reason, catalogue)):
        lines.append(f"{'' if number else 'Look:':{_MARGIN}}{command}")
    return "\n".join(lines) + "\n"


def reason_table(catalogue: Catalogue) -> str:
    """Return one line for each reason, by layer."""
    width = max(len(reason.name) for reason in catalogue)
    lines: list[str] = []
    for title, reasons in _by_subject(catalogue):
        lines += ["", title]
        for reason in reasons:
            mark = " (yours)" if _is_declared(reason, catalogue) else ""
            lines.append(f"  {reason.name:{width}}  {reason.summary}{mark}")
    return "\n".join(lines[1:]) + "\n"


def reason_document(reason: Reason, catalogue: Catalogue) -> dict[str, object]:
    """Return everything the catalogue says about a reason, for JSON."""
    return {
        "reason": reason.name,
        "layer": str(reason.layer),
        "type": str(reason.type),
        "declared": _is_declared(reason, catalogue),
        "summary": reason.summary,
        "trigger": reason.trigger,
        "notTrigger": reason.silent,
        "missedWhere": [
            {"what": name, "clusterHas": need.words, "because": need.evidence}
            for name, need in missed_where(reason, catalogue)
        ],
        "impact": users_get(reason),
        "action": reason.action,
        "commands": list(looks(reason, catalogue)),
        "inChain": reason.chain,
        "graceSeconds": reason.grace_seconds,
        "graceNote": reason.grace_note,
        "windowSeconds": reason.window_seconds,
        "thresholds": {each.name: each.default for each in reason.thresholds},
        "blocksReady": reason.blocks_ready,
        "reads": [str(resource) for resource in reason.reads],
        "alsoReads": {
            each.kind: [str(resource) for resource in reads] for each, reads in reason.also_reads
        },
        "suppressedBy": [
            {"reason": row.upstream, "crd": row.crd, "why": row.why}
            for row in catalogue.upstreams_of(reason.name)
        ],
        "suppressedInPodBy": [
            {"reason": row.upstream, "why": row.why}
            for row in catalogue.pod_upstreams_of(reason.name)
        ],
        "suppresses": [
            {"reasons": list(row.downstream), "crd": row.crd, "why": row.why}
            for row in _rows_of(reason, catalogue)
        ],
    }


def reasons_page(catalogue: Catalogue) -> str:
    """Return `docs/reasons.md`: the index, and the reasons above the stacks."""
    index: list[str] = []
    parts: list[str] = []
    for title, reasons in _by_subject(catalogue):
        page = page_of(reasons[0], catalogue)
        index += [f"- **{title}**: {', '.join(_link(each, page) for each in reasons)}"]
        if not page:
            parts += _sections(title, reasons, catalogue)
    return "\n".join([_MARKDOWN_HEAD, *index, "", *parts])


def stack_pages(catalogue: Catalogue) -> dict[str, str]:
    """Return the pages with the reasons of each stack's subjects, by their names in `docs`."""
    pages: dict[str, list[str]] = {}
    for title, reasons in _by_subject(catalogue):
        name = page_of(reasons[0], catalogue)
        if name:
            parts = pages.setdefault(name, [_STACK_HEAD.format(title=title.partition(": ")[2])])
            parts += _sections(title, reasons, catalogue)
    return {name: "\n".join(parts) for name, parts in pages.items()}


def page_of(reason: Reason, catalogue: Catalogue) -> str:
    """Return the name of the page that a reason is on, empty for the one with the index."""
    stack = catalogue.stack_of(reason.subject_kind)
    return "" if stack is None else f"reasons-{stack.name}.md"


def _link(reason: Reason, page: str) -> str:
    return f"[{reason.name}]({page}#{reason.name.lower()})"


def _sections(title: str, reasons: Iterable[Reason], catalogue: Catalogue) -> Iterator[str]:
    yield f"## {title}\n"
    for reason in reasons:
        yield f"### {reason.name}\n"
        yield f"{reason.type}. {escape(reason.summary)}\n"
        first = _first_like(reason, catalogue)
        if first is not reason:
            yield f"Everything else is as for {_link(first, page_of(first, catalogue))}.\n"
            continue
        told = _unusual(reason, catalogue)
        rows = [f"| {name} | {escape(text)} |" for name, text in told if name not in _FOLDED]
        yield "\n".join(["| | |", "| --- | --- |", *rows]) + "\n"
        if commands := looks(reason, catalogue):
            yield "How to look:\n\n" + "".join(f"    {each}\n" for each in commands)
        for name, text in told:
            if name in _FOLDED:
                folded = escape(text).replace("; ", "<br>")
                yield f"<details><summary>{name}</summary>\n\n{folded}\n\n</details>\n"


def _unusual(reason: Reason, catalogue: Catalogue) -> list[tuple[str, str]]:
    """Return the facts that the index does not say for all reasons."""
    common = {*_USUAL, ("Switch off", switched_off(reason))} if reason.mutable else _USUAL
    return [fact for fact in facts(reason, catalogue)[1:] if fact not in common]


def _first_like(reason: Reason, catalogue: Catalogue) -> Reason:
    """Return the first reason from metrics that differs in names alone, which may be the reason."""
    if reason.window_seconds is None:
        return reason
    told = _of_all_stacks(reason, catalogue)
    return next(
        each
        for each in catalogue
        if each.window_seconds is not None and _of_all_stacks(each, catalogue) == told
    )


def _of_all_stacks(reason: Reason, catalogue: Catalogue) -> list[tuple[str, str]]:
    told = _unusual(reason, catalogue)
    return [(title, text) for title, text in told if title not in _OF_THE_STACK]


def _by_subject(catalogue: Catalogue) -> Iterator[tuple[str, list[Reason]]]:
    for kind, reasons in groupby(catalogue, key=lambda reason: reason.subject_kind):
        of_kind = list(reasons)
        yield f"{of_kind[0].layer}: {_about(kind, catalogue)}", of_kind


def _about(kind: SubjectKind, catalogue: Catalogue) -> str:
    """Say what the subjects of a kind are."""
    stack = catalogue.stack_of(kind)
    if stack is None:
        return _UPPER_LAYERS[kind]
    resource, *_ = catalogue.of_subject(kind)
    return f"one {resource.kind} of {stack.project}"


def _rows_of(reason: Reason, catalogue: Catalogue) -> list[SuppressionRow]:
    """Return the rows of an upstream; those that differ by CRD alone in the order of its name."""
    rows = (row for row in catalogue.suppression if row.upstream == reason.name)
    return sorted(rows, key=lambda row: row.crd)


def _is_declared(reason: Reason, catalogue: Catalogue) -> bool:
    return any(each.component.reason == reason.name for each in catalogue.declared)


def facts(reason: Reason, catalogue: Catalogue) -> list[tuple[str, str]]:
    """Return titled sentences, the meaning first; titles without text are left out."""
    upstreams = [
        f"{row.upstream}{f' of {row.crd}' if row.crd else ''}, because {row.why}"
        for row in catalogue.upstreams_of(reason.name)
    ]
    upstreams += [
        f"{row.upstream} of the same pod, because {row.why}"
        for row in catalogue.pod_upstreams_of(reason.name)
    ]
    downstream = [
        f"{f'({row.crd}) ' if row.crd else ''}{', '.join(row.downstream)}"
        for row in _rows_of(reason, catalogue)
    ]
    downstream += [
        f"(of the same pod) {', '.join(row.downstream)}"
        for row in catalogue.pod_suppression
        if row.upstream == reason.name
    ]
    titled = [
        ("Meaning", reason.summary),
        ("Raised when", reason.trigger),
        ("Not raised by", reason.silent),
        ("Missed where", _missed(reason, catalogue)),
        ("Do users get errors", users_get(reason)),
        ("What to do", reason.action),
        ("Grace", _grace(reason)),
        ("Window", f"{reason.window_seconds} s." if reason.window_seconds else ""),
        ("Thresholds", "; ".join(map(_threshold, reason.thresholds))),
        ("Suppressed by", "; ".join(upstreams)),
        ("Suppresses", "; ".join(downstream)),
        ("Reads", _reads(reason)),
        ("Blocks Ready", "yes" if reason.blocks_ready else "no"),
        ("In the chain", "yes" if reason.chain else "no, written in addition"),
        ("Switch off", switched_off(reason)),
        ("Declared", _DECLARED if _is_declared(reason, catalogue) else ""),
    ]
    if reason.says_ready:
        titled = [fact for fact in titled if fact[0] not in {"Blocks Ready", "In the chain"}]
    return [(title, text) for title, text in titled if text]


def _missed(reason: Reason, catalogue: Catalogue) -> str:
    """Say what in a cluster shows that something of a reason has to be there."""
    found = (f"{name}: {need.words}" for name, need in missed_where(reason, catalogue))
    rows = "; ".join(found)
    return f"In auto, where it was there before, or the cluster has: {rows}." if rows else ""


def _reads(reason: Reason) -> str:
    groups = [
        ("", reason.reads),
        *(
            (f"of {'an' if each.kind[0] in 'AEIOU' else 'a'} {each.kind} also ", reads)
            for each, reads in reason.also_reads
        ),
    ]
    return "; ".join(f"{about}{', '.join(map(str, reads))}" for about, reads in groups if reads)


_NO_GRACE: Final = "Fires at once:"
"""How the note of a reason begins of which no fault waits for a grace."""


def _grace(reason: Reason) -> str:
    if reason.says_ready:
        return ""
    if reason.window_seconds is not None:
        return reason.grace_note
    if reason.grace_note.startswith(_NO_GRACE):
        return reason.grace_note
    own = reason.grace_seconds
    base = f"{own} s." if own is not None else "The global one, --startup-grace-seconds."
    return f"{base} {reason.grace_note}".strip()


def _threshold(threshold: Threshold) -> str:
    return f"{threshold.name} ({threshold.default:g}): {threshold.meaning}"


def escape(text: str) -> str:
    """Return text for a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
