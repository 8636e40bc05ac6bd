"""All findings as a table, as `kubectl get -o wide` would print them."""

from collections.abc import Callable
from typing import Final

from reporter.model.report import Disposition, Report, ResolvedFinding
from reporter.model.text import clean
from reporter.sinks.age import age
from reporter.sinks.muted import where_muted
from reporter.sinks.verdict import is_blind

_COLUMNS: Final = ("STATE", "REASON", "SUBJECT", "OBJECT", "FOR", "FIRES IN", "BY", "MESSAGE")
_PADDING: Final = 3
_NONE: Final = "<none>"
_UNKNOWN: Final = "<unknown>"
_COLOURS: Final = {Disposition.FIRING: "\x1b[1;31m", Disposition.PENDING: "\x1b[33m"}
_ORDER: Final = {disposition: place for place, disposition in enumerate(Disposition)}


def finding_table(report: Report, *, colour: bool = False) -> str:
    """Return a line for each finding, what fires first; empty where there are none.

    What the reporter cannot see comes last: it is no cause of the stack.

    Args:
        report: what a pass decided.
        colour: use the colours of a terminal.

    """
    if not report.findings:
        return ""
    causes = [each for each in report.findings if each.is_cause]
    rest = sorted(
        (each for each in report.findings if not each.is_cause),
        key=lambda each: (
            is_blind(each),
            _ORDER[each.disposition],
            report.catalogue.rank(each.reason),
            each.key,
        ),
    )
    findings = [*causes, *rest]
    rows = [_row(each, report) for each in findings]
    widths = [max(map(len, column)) + _PADDING for column in zip(_COLUMNS, *rows, strict=True)]
    lines = [_line(_COLUMNS, widths, str)]
    for finding, row in zip(findings, rows, strict=True):
        paint = _painter(finding.disposition if colour and not is_blind(finding) else None)
        lines.append(_line(row, widths, paint))
    return "".join(lines)


def _row(finding: ResolvedFinding, report: Report) -> tuple[str, ...]:
    involved = finding.involved
    place = (part for part in (involved.kind.lower(), involved.namespace, involved.name) if part)
    fires_in = age(finding.fires_at - report.now) if finding.fires_at else _NONE
    stale = " (stale)" if finding.stale else ""
    return (
        f"{finding.disposition}{stale}",
        finding.reason,
        clean(str(finding.subject)),
        clean("/".join(place)),
        age(report.now - finding.since) if finding.age_known else _UNKNOWN,
        fires_in,
        ",".join(finding.by) or where_muted(finding) or _NONE,
        clean(finding.message),
    )


def _line(row: tuple[str, ...], widths: list[int], paint: Callable[[str], str]) -> str:
    cells = [f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)]
    return f"{paint(cells[0])}{''.join(cells[1:])}".rstrip() + "\n"


def _painter(disposition: Disposition | None) -> Callable[[str], str]:
    start = _COLOURS.get(disposition) if disposition else None
    return (lambda text: f"{start}{text}\x1b[0m") if start else str
