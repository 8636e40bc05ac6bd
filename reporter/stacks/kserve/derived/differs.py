"""What of a stored status is not what should have been propagated."""

from collections.abc import Iterator, Mapping
from typing import Final

from reporter.stacks.kserve.derived.conditions import TRUE, Transition
from reporter.stacks.kserve.derived.derive import DerivedInferenceService, document_of
from reporter.stacks.kserve.derived.raw import READY, Component
from reporter.stacks.kserve.objects import InferenceServiceStatus

_REVISION_FIELDS: Final = (
    "latestCreatedRevision",
    "latestReadyRevision",
    "latestRolledoutRevision",
    "previousRolledoutRevision",
    "traffic",
    "url",
    "address",
)

_OPPOSITE: Final = frozenset(
    {
        (Transition.BLOCKED.value, Transition.UP_TO_DATE.value),
        (Transition.UP_TO_DATE.value, Transition.BLOCKED.value),
    }
)
"""Transitions that one passing look at a pod cannot confuse: a crash loop goes in and out of
InProgress, and pods come and go without KServe being told."""


def differs(stored: InferenceServiceStatus, wanted: DerivedInferenceService) -> tuple[str, ...]:
    """Return the paths of the fields of a stored status that are not as derived, sorted.

    What cannot be known is no difference: times; the order in which KServe wrote conditions, which
    decides the words of Ready; reasons of True conditions, which older versions do not write;
    types of conditions that the stored status does not have, as of older versions; messages with a
    percent sign, which are garbled when stored; what ready pods there were at the last pass. Nothing differs where KServe would leave the status alone.
    """
    if not wanted.decided:
        return ()
    have, want = document_of(stored), wanted.status
    found = [*_components(have, want), *_conditions(have, want)]
    if not wanted.model_unsure:
        found += _model(have, want)
    if have.get("observedGeneration") not in {None, want.get("observedGeneration")}:
        found.append("observedGeneration")
    return tuple(sorted(found))


def _components(have: Mapping[str, object], want: Mapping[str, object]) -> Iterator[str]:
    stored, derived = _part(have, "components"), _part(want, "components")
    for component in Component:
        one, other = _part(stored, component), _part(derived, component)
        for name in _REVISION_FIELDS:
            if one.get(name) != other.get(name):
                yield f"components.{component}.{name}"


def _conditions(have: Mapping[str, object], want: Mapping[str, object]) -> Iterator[str]:
    stored, derived = _by_type(have), _by_type(want)
    for type_ in stored.keys() | derived.keys():
        one, other = stored.get(type_), derived.get(type_)
        if one is None:
            continue  # older versions do not write every type
        if other is None or _speaks_otherwise(type_, one, other):
            yield f"conditions.{type_}"


def _speaks_otherwise(type_: str, one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    if one.get("status") != other.get("status"):
        return True
    if type_ == READY or one.get("status") == TRUE:
        return False
    if one.get("reason") != other.get("reason"):
        return True
    message = other.get("message", "")
    return "%" not in str(message) and one.get("message", "") != message


def _model(have: Mapping[str, object], want: Mapping[str, object]) -> Iterator[str]:
    one = str(_part(have, "modelStatus").get("transitionStatus", ""))
    other = str(_part(want, "modelStatus").get("transitionStatus", ""))
    if (one, other) in _OPPOSITE:
        yield "modelStatus.transitionStatus"


def _part(document: Mapping[str, object], name: str) -> Mapping[str, object]:
    part = document.get(name)
    return part if isinstance(part, Mapping) else {}


def _by_type(document: Mapping[str, object]) -> dict[str, Mapping[str, object]]:
    conditions = document.get("conditions")
    entries = conditions if isinstance(conditions, list) else []
    return {str(each.get("type")): each for each in entries if isinstance(each, Mapping)}
