"""What was changed shortly before a fault began, in words."""

from reporter.model.report import ResolvedFinding


def change_lines(finding: ResolvedFinding) -> tuple[str, ...]:
    """Return a line for each change."""
    return tuple(each.seen_from(finding.related) for each in finding.changes)


def further_changes(finding: ResolvedFinding) -> tuple[str, ...]:
    """Return a line for each change that the message does not tell."""
    return tuple(each for each in change_lines(finding) if _told(each) not in finding.message)


def without_changes(finding: ResolvedFinding) -> str:
    """Return the message without the change that it tells."""
    message = finding.message
    for each in change_lines(finding):
        message = message.replace(_told(each), "", 1)
    return message


def _told(change: str) -> str:
    return f" ({change})"
