"""Conditions as Knative's condition set keeps them (github.com/knative/pkg, apis/condition_set.go).

Ready depends on PredictorReady and IngressReady only. The other conditions are informational, so a
transformer can be down while Ready is True.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from reporter.model.objects import Condition, Deployment
from reporter.stacks.kserve import objects as api

DEPENDENTS: Final = (api.PREDICTOR_READY, api.INGRESS_READY)
"""The conditions that Ready depends on."""

TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"

BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)
_FINE: Final = api.KnativeCondition(type=api.READY, status=TRUE)


class ConditionManager:
    """The conditions during one pass, starting from the stored ones.

    There is no clock: a condition that differs from the stored one in status, reason, message or
    severity has no lastTransitionTime, which marks it as changed by the pass. A condition that was
    changed and changed back keeps the stored time.
    """

    def __init__(self, stored: Iterable[api.KnativeCondition] = ()) -> None:
        """Start with the stored conditions; if Ready or its dependents are missing, add Unknown."""
        self._stored = {each.type: each for each in stored}
        self._present = dict(self._stored)
        self._changes: list[str] = []
        for type_ in (api.READY, *DEPENDENTS):
            if type_ not in self._present:
                self._set(type_, UNKNOWN, "", message="")

    def get(self, type_: str) -> api.KnativeCondition | None:
        return self._present.get(type_)

    def has(self, type_: str, status: str) -> bool:
        condition = self._present.get(type_)
        return condition is not None and condition.status == status

    def take_over(self, type_: str, condition: Condition | None) -> None:
        """Copy another object's condition; None leaves the current one unchanged."""
        if condition is not None:
            self.mark(
                type_, condition.status, condition.reason or "", message=condition.message or ""
            )

    def mark(self, type_: str, status: str, reason: str = "", *, message: str = "") -> None:
        """Write a condition and update Ready; ignore an invalid status."""
        if status not in (TRUE, FALSE, UNKNOWN):
            return
        self._set(type_, status, reason, message=message)
        if status == TRUE:
            self._follow(self._newest(FALSE) or self._newest(UNKNOWN) or _FINE)
        elif type_ in DEPENDENTS:
            failed = self._newest(FALSE) if status == UNKNOWN else None
            if failed is None or not self.has(api.READY, FALSE):
                self._follow(failed or self._present[type_])

    def clear(self, type_: str) -> None:
        """Remove a condition without updating Ready."""
        self._present.pop(type_, None)

    def conditions(self) -> tuple[api.KnativeCondition, ...]:
        return tuple(
            before
            if (before := self._stored.get(type_)) and _said(before) == _said(condition)
            else condition
            for type_, condition in sorted(self._present.items())
        )

    def _follow(self, condition: api.KnativeCondition) -> None:
        """Let Ready say what another condition says."""
        reason, message = condition.reason or "", condition.message or ""
        self._set(api.READY, condition.status, reason, message=message)

    def _set(self, type_: str, status: str, reason: str, *, message: str) -> None:
        severity = "" if type_ in (api.READY, *DEPENDENTS) else "Info"
        wanted = api.KnativeCondition(
            type=type_, status=status, reason=reason, message=message, severity=severity
        )
        if _said(self._present.get(type_)) != _said(wanted):
            self._present[type_] = wanted
            self._changes.append(type_)

    def _newest(self, status: str) -> api.KnativeCondition | None:
        """Return the dependent of that status that changed last; changes of this pass are newest.

        Times have whole seconds. KServe orders equal times randomly; here a condition with a reason
        wins.
        """
        which = [each for each in sorted(DEPENDENTS) if self.has(each, status)]
        return self._present[max(which, key=self._age)] if which else None

    def _age(self, type_: str) -> tuple[int, datetime, bool]:
        condition = self._present[type_]
        moved = condition.last_transition_time or BEFORE_ALL
        last = max((at for at, each in enumerate(self._changes, 1) if each == type_), default=0)
        return last, moved, bool(condition.reason)


def aggregate(conditions: ConditionManager, components: Iterable[api.Component]) -> None:
    """Write RoutesReady and LatestDeploymentReady: the last component that is not True wins.

    So an Unknown component hides an earlier one that is False.
    """
    walked = tuple(components)
    for type_, parts in (
        ("RoutesReady", tuple(each.route_ready for each in walked)),
        ("LatestDeploymentReady", tuple(each.configuration_ready for each in walked)),
    ):
        status, reason = TRUE, ""
        for part in parts:
            if not conditions.has(part, TRUE):
                status = FALSE if conditions.has(part, FALSE) else UNKNOWN
                reason = f"{part} not ready"
        conditions.mark(type_, status, reason)


def _said(condition: api.KnativeCondition | None) -> tuple[str, ...]:
    if condition is None:
        return ()
    parts = (condition.status, condition.reason, condition.message, condition.severity)
    return tuple(each or "" for each in parts)


AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
REPLICA_FAILURE: Final = "ReplicaFailure"

_OF_RAW: Final = {
    # Progressing: absent    complete   goes on      failed     failed without a message
    "":         ("False",   "True P",  "Unknown P", "False P", "False"),
    "True":     ("True A",  "True P",  "True A",    "False P", "True A"),
    "False":    ("False A", "False A", "False A",   "False A", "False A"),
}  # fmt: skip
"""Status of a component's Ready by the statuses of Available (rows) and Progressing (columns), and
the initial of the condition whose reason and message it copies. Unknown counts as absent."""


def raw_ready(type_: str, deployments: Sequence[Deployment], wanted: int = 1) -> Condition:
    """Return a component's Ready in Standard mode, from its Deployments: one, or head and workers.

    This is KServe's `PropagateRawStatus`. A ReplicaFailure overrides everything. With fewer
    Deployments than `wanted` it is False without a reason: a missing Deployment has no conditions.
    """
    there = deployments if len(deployments) >= wanted else ()
    available, progressing = _combined(AVAILABLE, there), _combined(PROGRESSING, there)
    failure = _combined(REPLICA_FAILURE, there)
    status, source = FALSE, failure
    if failure is None or failure.status != TRUE:
        row = _OF_RAW[available.status if available and available.status in _OF_RAW else ""]
        status, _, letter = row[_progress(progressing)].partition(" ")
        source = {"A": available, "P": progressing, "": None}[letter]
    reason, message = (source.reason, source.message) if source else (None, None)
    return Condition(type=type_, status=status, reason=reason, message=message)


def _progress(condition: Condition | None) -> int:
    match condition:
        case Condition(status="True", reason=reason):
            return 1 if reason == "NewReplicaSetAvailable" else 2
        case Condition(status="False", message=message):
            return 3 if message else 4
    return 0


def _combined(type_: str, deployments: Sequence[Deployment]) -> Condition | None:
    """Merge a condition of several Deployments; None if one of them lacks it.

    It is True only if all are True, else False, even if one is Unknown. A reason that all share
    appears once; differing reasons, and all messages, have a prefix each.
    """
    found = [
        (each, condition) for each in deployments if (condition := each.status.condition(type_))
    ]
    if not found or len(found) < len(deployments):
        return None
    if len(found) == 1:
        return found[0][1]
    prefixes = [
        "worker-container" if "worker" in each.name else "predictor-container" for each, _ in found
    ]
    reasons, messages = (
        [each.reason or "" for _, each in found],
        [each.message for _, each in found],
    )
    return Condition(
        type=type_,
        status="True" if all(each.status == "True" for _, each in found) else "False",
        reason=reasons[0] if len(set(reasons)) == 1 else _joined(prefixes, reasons),
        message=_joined(prefixes, messages),
    )


def _joined(prefixes: Iterable[str], texts: Iterable[str | None]) -> str:
    parts = zip(prefixes, texts, strict=True)
    return ", ".join(f"{prefix}: {text}" for prefix, text in parts if text)
