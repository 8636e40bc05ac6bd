"""The outcomes as a Markdown table."""

from collections.abc import Iterable

from e2e.chaos.experiment import Outcome
from e2e.chaos.form import Form

_HEAD = ("fault", "lasted", "recovery", "bound", "false", "lost", "doubled", "writers", "late")


def table(outcomes: Iterable[Outcome], form: Form) -> str:
    """Return a table with a row for each outcome, and the settings that it was measured with."""
    rows = [_HEAD, tuple("---" if cell == "fault" else "---:" for cell in _HEAD)]
    rows += [_row(outcome) for outcome in outcomes]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join((_settings(form), "", *lines))


def _row(outcome: Outcome) -> tuple[str, ...]:
    recovery = "never" if outcome.recovery is None else f"{outcome.recovery:.1f} s"
    return (
        outcome.fault.text,
        f"{outcome.lasted:.0f} s",
        recovery,
        f"{outcome.bound:.0f} s",
        str(len(outcome.untrue)),
        str(len(outcome.lost)),
        str(len(outcome.doubled)),
        ", ".join(each.removeprefix("replica-") for each in outcome.writers) or "none",
        str(len(outcome.late)),
    )


def _settings(form: Form) -> str:
    lease = form.lease
    return (
        f"Lease {lease.duration:g} s, renew deadline {lease.renew_deadline:g} s, retry period "
        f"{lease.retry:g} s, resync {form.resync} s, grace {form.grace} s."
    )
