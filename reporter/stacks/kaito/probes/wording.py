"""Texts of KAITO's conditions."""

from typing import Final

from reporter.model.objects import Condition
from reporter.model.text import clean, cut, detail
from reporter.stacks.kaito.objects import Workspace

_RECONCILE_ERROR: Final = "(last reconcile error:"
SCANNED: Final = 16_384
"""How much of a text is looked at; those of KAITO have no limit."""

_BASE_BYTES: Final = 400
_ERROR_BYTES: Final = 200


def without_reconcile_error(condition: Condition) -> str:
    """Return the condition's own text without the error that KAITO appends to any condition."""
    return (condition.message or "")[:SCANNED].partition(_RECONCILE_ERROR)[0]


def condition_text(condition: Condition) -> str:
    """Return reason and text, clean and bounded; an appended reconcile error keeps its place."""
    message, found, error = (condition.message or "")[:SCANNED].partition(_RECONCILE_ERROR)
    text = detail(condition.reason, message, _BASE_BYTES) or "no reason given"
    if not found:
        return text
    return f"{text} {_RECONCILE_ERROR} {cut(clean(error.rstrip(') ')), _ERROR_BYTES)})"


def believed(condition: Condition, workspace: Workspace) -> bool:
    """Tell whether a condition may be told at once.

    One that KAITO wrote for an earlier spec may be about what was just corrected: it is told, but
    not before its grace.
    """
    observed = condition.observed_generation
    return (
        not isinstance(observed, int) or not observed or observed >= workspace.metadata.generation
    )
