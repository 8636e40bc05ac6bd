"""Whether a cluster needs a shared part, or a CustomResourceDefinition of one."""

from collections.abc import Iterable
from functools import partial

from reporter.model.resource import PartKey, Seen
from reporter.model.stack import Need
from reporter.snapshot.snapshot import NOT_READ, Served, Snapshot


def needed_by(needs: Iterable[Need], snapshot: Snapshot) -> str:
    """Return the first object that shows one of some needs, by its name; empty where none does."""
    return next((found for each in needs if (found := _first(each, snapshot))), "")


def still_needed_by(
    key: PartKey, needs: tuple[Need, ...], snapshot: Snapshot, *, seen: Seen
) -> str:
    """Return the same; what showed the need last still does where it cannot be read now."""
    found = needed_by(needs, snapshot)
    if found or not may_be_needed(needs, snapshot):
        return found
    return seen.needed.get(key, "")


def may_be_needed(needs: Iterable[Need], snapshot: Snapshot) -> bool:
    """Tell whether something that would show one of some needs was asked for and cannot be read.

    What nobody asked for, as of a stack that is switched off, shows nothing.
    """
    states = (snapshot.state(each.by) for each in needs)
    return any(each.served is Served.UNKNOWN and each.cause != NOT_READ.cause for each in states)


def _first(need: Need, snapshot: Snapshot) -> str:
    """Look once for each snapshot: Deployments, CRDs and Ready ask the same."""
    return snapshot.once(need, need.first if need.alone is None else partial(_first_alone, need))


def _first_alone(need: Need, snapshot: Snapshot) -> str:
    found = snapshot[need.by].first(need.alone) if need.alone is not None else None
    return need.names(found) if found is not None else ""
