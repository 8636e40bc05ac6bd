"""inferencesetScalingMisconfigured: annotations that the scaler refuses."""

import re
from collections.abc import Iterator
from typing import Final

from reporter.model.finding import Finding
from reporter.model.text import clean, cut
from reporter.stacks.kaito.objects import InferenceSet
from reporter.stacks.kaito.probes.scaling_metrics import metrics_faults
from reporter.stacks.kaito.probes.scope import InferenceSetScope
from reporter.stacks.kaito.reasons import MODEL_SCALING
from reporter.stacks.kaito.resources import INFERENCESETS

PREFIX: Final = "scaledobject.kaito.sh/"
"""Prefix of the annotations that the scaler reads."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
_INT32_MAX: Final = 2**31 - 1
_SECONDS: Final = ("evaluationwindow", "scaleupcooldown", "scaledowncooldown")


def probe_scaling(scope: InferenceSetScope) -> Iterator[Finding]:
    """Yield one finding that lists all values with which scaling can never work.

    The absence of the scaler itself is told by its cluster reason alone.
    """
    if scope.inferenceset.metadata.annotation(f"{PREFIX}auto-provision") != "true":
        return
    faults = tuple(_faults(scope.inferenceset))
    if not faults:
        return
    yield scope.finding(
        reason=MODEL_SCALING,
        related=INFERENCESETS.ref(scope.inferenceset),
        cause=faults[0],
        text="; ".join(faults),
        severity=len(faults),
        created=scope.inferenceset.created,
        exempt=True,
    )


def _faults(inferenceset: InferenceSet) -> Iterator[str]:
    minimum = _minimum(inferenceset)
    yield from _range_faults(inferenceset, minimum)
    text = inferenceset.metadata.annotation(f"{PREFIX}metrics")
    yield from metrics_faults(text or "", scale_to_zero=minimum == 0)
    for name in _SECONDS:
        value = inferenceset.metadata.annotation(PREFIX + name) or ""
        number = _integer(value)
        if value and (number is None or not 0 <= number <= _INT32_MAX):
            yield f"{name} {_quoted(value)} is not a number of seconds"
    policy = inferenceset.metadata.annotation(f"{PREFIX}combinepolicy") or "AND"
    if policy.upper() != "AND":
        yield f"combinepolicy {_quoted(policy)} is not AND"


def _minimum(inferenceset: InferenceSet) -> int:
    """Return the least number of replicas; the scaler takes 1 for a value it does not understand.

    An explicit 0 asks for scaling to zero, which newer scalers know.
    """
    minimum = _integer(inferenceset.metadata.annotation(f"{PREFIX}min-replicas") or "")
    return 1 if minimum is None or minimum < 0 else minimum


def _range_faults(inferenceset: InferenceSet, minimum: int) -> Iterator[str]:
    text = inferenceset.metadata.annotation(f"{PREFIX}max-replicas")
    limit = inferenceset.spec.node_count_limit or 0
    if text is None:
        if limit <= 0:
            yield "max-replicas and spec.nodeCountLimit are not set"
            return
        maximum, name = limit, f"spec.nodeCountLimit {limit}"  # a replica has a node at least
    else:
        number = _integer(text)
        if number is None:
            yield f"max-replicas {_quoted(text)} is not an integer"
            return
        if number <= min(1, minimum):
            yield f"max-replicas {number} is not above {min(1, minimum)}"
        maximum, name = number, f"max-replicas {number}"
    if maximum < minimum:
        yield f"{name} is below min-replicas {minimum}"
    if maximum < inferenceset.wanted:
        yield f"{name} is below spec.replicas {inferenceset.wanted}"


def _integer(text: str) -> int | None:
    return int(text) if _INTEGER.fullmatch(text) else None


def _quoted(text: str) -> str:
    return f'"{cut(clean(text), 60)}"'
