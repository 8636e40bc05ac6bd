"""Whether two pod templates, or two lists of roles, say the same.

The controller writes a ControllerRevision from typed values, so zero values are left out there,
empty structs are spelled out and quantities are in canonical form, while the ModelServing holds
what its author wrote.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from reporter.stacks.kthena.objects import Role

_QUANTITY: Final = re.compile(r"([+-]?[0-9.]{1,40})([eE][+-]?[0-9]{1,2}|[numkMGTPE]|[KMGTPE]i)?")
_SUFFIXES: Final = {
    "": Decimal(1),
    **{suffix: Decimal(10) ** power for suffix, power in zip("num", (-9, -6, -3), strict=True)},
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}
_OF_QUANTITIES: Final = frozenset({"limits", "requests", "overhead"})
_ONE_OF_THEM: Final = "limits.*"
_DIVISOR: Final = "divisor"
_QUANTITIES: Final = frozenset({_ONE_OF_THEM, "sizeLimit", _DIVISOR})

_FREE_KEYS: Final = frozenset({"labels", "annotations", "nodeSelector", "matchLabels"})
"""Maps whose keys say something without a value, too: `nodeSelector: {gpu: ""}`."""

_POINTERS: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "allowPrivilegeEscalation",
        "automountServiceAccountToken",
        "defaultMode",
        "enableServiceLinks",
        "expirationSeconds",
        "fsGroup",
        "hostUsers",
        "mode",
        "optional",
        "priority",
        "privileged",
        "readOnlyRootFilesystem",
        "runAsGroup",
        "runAsNonRoot",
        "runAsUser",
        "setHostnameAsFQDN",
        "shareProcessNamespace",
        "terminationGracePeriodSeconds",
        "tolerationSeconds",
    }
)
"""Fields of a PodSpec whose zero is kept, and says something else than their absence."""


def same_roles(ours: Sequence[Role], theirs: Sequence[Role]) -> bool:
    """Tell whether two lists of roles give the same revision.

    `replicas`, `maxUnavailable` and `partition` are no part of it; the order of the roles is.
    """
    return len(ours) == len(theirs) and all(map(same_role, ours, theirs))


def same_role(one: Role, other: Role) -> bool:
    """Tell whether two roles are the same apart from replicas, maxUnavailable and partition."""
    if (one.name, one.pods) != (other.name, other.pods):
        return False
    try:
        return _same(one.entry_template, other.entry_template) and _same(
            one.worker_template, other.worker_template
        )
    except RecursionError:
        return False


def _same(one: object, other: object, key: str = "") -> bool:
    """Compare two values found under the same key, where what is absent is None."""
    if one == other:
        return True
    if isinstance(one or other, dict):
        return _same_maps(one or {}, other or {}, key)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if key == _DIVISOR:  # a struct, so that Go spells its zero out
        return _quantity(one or "0") == _quantity(other or "0")
    if key in _QUANTITIES:
        return _quantity(one) == _quantity(other)
    return key not in _POINTERS and not one and not other


def _same_maps(one: object, other: object, key: str) -> bool:
    if key in _FREE_KEYS or not isinstance(one, dict) or not isinstance(other, dict):
        return one == other
    return all(
        _same(one.get(name), other.get(name), _key(name, key)) for name in one.keys() | other.keys()
    )


def _key(name: object, parent: str) -> str:
    """Return what a value is known by: each entry of `limits` is a quantity of its own."""
    return _ONE_OF_THEM if parent in _OF_QUANTITIES else str(name)


def _quantity(value: object) -> object:
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        return value
    number, suffix = found[1], found[2] or ""
    if number.count(".") > 1 or not any(map(str.isdigit, number)):
        return value
    if suffix in _SUFFIXES:
        return Decimal(number) * _SUFFIXES[suffix]
    return Decimal(number + suffix)
