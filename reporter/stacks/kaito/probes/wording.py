"""Texts of KAITO's conditions."""

from typing import Final

from reporter.model.objects import Condition
from reporter.model.text import clean, cut, detail
from reporter.stacks.kaito.objects import Workspace

_RECONCILE_ERROR: Final = "(last reconcile error:"
_REFUSALS: Final = ("denied the request", "denied request", " is forbidden:", " is invalid:")
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


def reconcile_error(condition: Condition | None) -> str:
    """Return the error that KAITO appended to a condition's text, clean and bounded.

    It is that of the last reconcile, and away after one that succeeded (KAITO,
    pkg/workspace/controllers/workspace_controller.go, v0.12).
    """
    if condition is None:
        return ""
    error = (condition.message or "")[:SCANNED].partition(_RECONCILE_ERROR)[2]
    return cut(clean(error.rstrip(") ")), _BASE_BYTES)


def is_refusal(error: str) -> bool:
    """Tell whether an error is the API server's refusal of an object, by its own words.

    "denied the request" is of an admission webhook (k8s.io/apiserver,
    pkg/admission/plugin/webhook/errors/statuserror.go) or policy, "is forbidden:" of a quota and of
    rights, "is invalid:" of the object's fields (k8s.io/apimachinery, pkg/api/errors/errors.go).
    """
    return any(words in error for words in _REFUSALS)


def believed(condition: Condition, workspace: Workspace) -> bool:
    """Tell whether a condition may be told at once.

    One that KAITO wrote for an earlier spec may be about what was just corrected: it is told, but
    not before its grace.
    """
    observed = condition.observed_generation
    return (
        not isinstance(observed, int) or not observed or observed >= workspace.metadata.generation
    )
