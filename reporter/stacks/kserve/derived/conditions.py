"""Conditions as Knative's condition set keeps them (github.com/knative/pkg, apis/condition_set.go).

Ready follows PredictorReady and IngressReady and nothing else: the other conditions are there for
information, so that a transformer can be down while Ready is True.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from reporter.model.objects import Condition
from reporter.stacks.kserve.derived.components import (
    INGRESS_READY,
    LATEST_DEPLOYMENT_READY,
    PREDICTOR_READY,
    READY,
    ROUTES_READY,
    Component,
)
from reporter.stacks.kserve.objects import KnativeCondition

DEPENDENTS: Final = (PREDICTOR_READY, INGRESS_READY)
"""What Ready follows."""

INFO: Final = "Info"
TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"

_BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)


class ConditionManager:
    """The conditions of one pass, from those that are stored.

    There is no clock: a condition that differs from the stored one in status, reason, message or
    severity has no lastTransitionTime, which says that the pass changed it. One that was changed
    and changed back in the pass keeps the stored time.
    """

    def __init__(self, stored: Iterable[KnativeCondition] = ()) -> None:
        """Begin with the stored conditions; those that Ready rests on start as Unknown."""
        self._stored = {each.type: each for each in stored}
        self._present = dict(self._stored)
        self._changes: list[str] = []
        for type_ in (READY, *DEPENDENTS):
            if type_ not in self._present:
                self._set(type_, UNKNOWN, "", message="")

    def get(self, type_: str) -> KnativeCondition | None:
        """Return a condition as it is now in the pass."""
        return self._present.get(type_)

    def is_true(self, type_: str) -> bool:
        """Tell whether a condition is there and True."""
        return self._status(type_) == TRUE

    def take_over(self, type_: str, condition: Condition | None) -> None:
        """Mark a condition as another object's is; None leaves it as it was."""
        if condition is not None:
            self.mark(
                type_, condition.status, condition.reason or "", message=condition.message or ""
            )

    def mark(self, type_: str, status: str, reason: str = "", *, message: str = "") -> None:
        """Write a condition, and let Ready follow; an invalid status is not written."""
        if status not in (TRUE, FALSE, UNKNOWN):
            return
        self._set(type_, status, reason, message=message)
        if status == TRUE:
            self._recompute()
        elif type_ not in DEPENDENTS:
            return
        elif status == FALSE:
            self._set(READY, FALSE, reason, message=message)
        elif failed := self._newest(FALSE):
            if self._status(READY) != FALSE:
                self._set(READY, FALSE, failed.reason or "", message=failed.message or "")
        else:
            self._set(READY, UNKNOWN, reason, message=message)

    def clear(self, type_: str) -> None:
        """Remove a condition that Ready does not follow."""
        self._present.pop(type_, None)

    def conditions(self) -> tuple[KnativeCondition, ...]:
        """Return all conditions, sorted by type."""
        return tuple(self._timed(self._present[type_]) for type_ in sorted(self._present))

    def _status(self, type_: str) -> str:
        condition = self._present.get(type_)
        return condition.status if condition else UNKNOWN

    def _set(self, type_: str, status: str, reason: str, *, message: str) -> None:
        severity = "" if type_ in (READY, *DEPENDENTS) else INFO
        wanted = KnativeCondition(
            type=type_, status=status, reason=reason, message=message, severity=severity
        )
        before = self._present.get(type_)
        if before is not None and _same(before, wanted):
            return
        self._present[type_] = wanted
        self._changes.append(type_)

    def _timed(self, condition: KnativeCondition) -> KnativeCondition:
        before = self._stored.get(condition.type)
        if before is not None and _same(before, condition):
            return before
        return replace(condition, last_transition_time=None)

    def _recompute(self) -> None:
        """Set Ready by what it follows: a False one wins, then an Unknown one, then a missing one."""
        unhappy = self._newest(FALSE) or self._newest(UNKNOWN)
        if unhappy is not None:
            self._set(READY, unhappy.status, unhappy.reason or "", message=unhappy.message or "")
        elif any(each not in self._present for each in DEPENDENTS):
            self._set(READY, UNKNOWN, "", message="")
        else:
            self._set(READY, TRUE, "", message="")

    def _newest(self, status: str) -> KnativeCondition | None:
        """Return the one with that status that changed last; what this pass changed is newest.

        Times have whole seconds. Of equal ones, which KServe itself orders by chance, the one that
        says why goes first.
        """
        which = [each for each in sorted(DEPENDENTS) if each in self._present]
        which = [each for each in which if self._present[each].status == status]
        return self._present[max(which, key=self._age)] if which else None

    def _age(self, type_: str) -> tuple[int, datetime, bool]:
        condition = self._present[type_]
        moved = condition.last_transition_time or _BEFORE_ALL
        last = max((at for at, each in enumerate(self._changes, 1) if each == type_), default=0)
        return last, moved, bool(condition.reason)


def aggregate(conditions: ConditionManager, components: Iterable[Component]) -> None:
    """Write RoutesReady and LatestDeploymentReady: the last bad component wins.

    So a component that is Unknown hides one before it that is False.
    """
    walked = tuple(components)
    for type_, parts in (
        (ROUTES_READY, tuple(each.route_ready for each in walked)),
        (LATEST_DEPLOYMENT_READY, tuple(each.configuration_ready for each in walked)),
    ):
        status, reason = TRUE, ""
        for part in parts:
            condition = conditions.get(part)
            if condition is None or condition.status != TRUE:
                failed = condition is not None and condition.status == FALSE
                status, reason = FALSE if failed else UNKNOWN, f"{part} not ready"
        conditions.mark(type_, status, reason)


def _same(one: KnativeCondition, other: KnativeCondition) -> bool:
    return _said(one) == _said(other)


def _said(condition: KnativeCondition) -> tuple[str, str, str, str]:
    return (
        condition.status,
        condition.reason or "",
        condition.message or "",
        condition.severity,
    )
