"""Quantities of the API as exact numbers, to tell whether two are equal.

Source: apimachinery, pkg/api/resource/quantity.go.
"""

import re
from decimal import Decimal
from typing import Final

_WRITTEN: Final = re.compile(r"([+-]?[0-9.]{1,40})([eE][+-]?[0-9]{1,2}|[numkMGTPE]|[KMGTPE]i)?")
_SUFFIXES: Final = {
    "": Decimal(1),
    **{suffix: Decimal(10) ** power for suffix, power in zip("num", (-9, -6, -3), strict=True)},
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}


def quantity(value: object) -> object:
    """Return the number that a quantity stands for (`1000m` is 1), or any other value unchanged."""
    found = _WRITTEN.fullmatch(str(value))
    if found is None or found[1].count(".") > 1 or not any(map(str.isdigit, found[1])):
        return value
    number, suffix = found[1], found[2] or ""
    if suffix in _SUFFIXES:
        return Decimal(number) * _SUFFIXES[suffix]
    return Decimal(number + suffix)
