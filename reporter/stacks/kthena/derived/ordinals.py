"""Numbers in names, and counts that may be percentages."""

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import Final

_ORDINAL: Final = re.compile(r"-(\d{1,10})\Z", re.ASCII)
_PERCENT: Final = re.compile(r"(\d{1,9})%", re.ASCII)
_MOST: Final = 2**31 - 1


def ordinal_of(name: str) -> int:
    """Return the number at the end of the name of a group or instance, -1 if there is none.

    It has 32 bits, as in Kthena's controller.
    """
    found = _ORDINAL.search(name)
    number = int(found[1]) if found else -1
    return number if number <= _MOST else -1


def partition_of(value: int | str | None, replicas: int) -> int:
    """Return how many entries a partition protects.

    A percentage is of `replicas` and is rounded up. What is neither protects none, as in Kthena.
    """
    if isinstance(value, int):
        return value
    percent = _PERCENT.fullmatch(value or "")
    return -(-int(percent[1]) * replicas // 100) if percent else 0


def surge_of(value: int | str | None, replicas: int) -> int:
    """Return how many groups there may be beyond those that are wanted.

    A percentage is rounded up, as that of Deployments (Kubernetes API, `apps/v1`, `maxSurge`).
    """
    return max(0, partition_of(value, replicas))


def to_create(known: Collection[int], wanted: int) -> Iterator[int]:
    """Yield the ordinals that the controller creates next, ascending.

    Everything known counts, so {0, 5} of 4 lacks only 1 and 2. There may be very many.
    """
    taken = frozenset(known)
    free = (ordinal for ordinal in range(wanted) if ordinal not in taken)
    return islice(free, max(0, wanted - len(known)))
