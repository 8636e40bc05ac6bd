"""Whether a status on record is the one that is wanted."""

import msgspec

from reporter.model.derived import Document
from reporter.model.instant import rfc3339
from reporter.model.kthena import ModelServingStatus, RoleStatus
from reporter.model.objects import Condition


def differs(stored: ModelServingStatus, wanted: Document) -> bool:
    """Tell whether a write would change anything; absent and zero are the same to the API.

    Times are compared as the API writes them, in whole seconds.
    """
    new = _typed(wanted)
    return (
        _plain(stored) != _plain(new)
        or list(map(_condition, stored.conditions or ()))
        != list(map(_condition, new.conditions or ()))
        or (stored.role_statuses or ()) != (new.role_statuses or ())
    )


def roles_differ(stored: ModelServingStatus, wanted: Document) -> bool:
    """Tell the same of `roleStatuses` and `roleStatusesOmitted` alone.

    These are applied, and an API server may keep the entries of a list map in an order of its own;
    so an order that differs is no difference.
    """
    new = _typed(wanted)
    return stored.role_statuses_omitted != new.role_statuses_omitted or _entries(
        stored.role_statuses
    ) != _entries(new.role_statuses)


def _typed(wanted: Document) -> ModelServingStatus:
    return msgspec.convert(wanted, ModelServingStatus)


def _plain(status: ModelServingStatus) -> tuple[object, ...]:
    return (
        status.observed_generation,
        status.replicas,
        status.current_replicas,
        status.updated_replicas,
        status.available_replicas,
        status.current_revision,
        status.update_revision,
        status.label_selector,
        status.role_statuses_omitted,
    )


def _condition(condition: Condition) -> tuple[object, ...]:
    since = condition.last_transition_time
    return (
        condition.type,
        condition.status,
        condition.reason or "",
        condition.message or "",
        since and rfc3339(since),
        condition.observed_generation or 0,
    )


def _entries(statuses: tuple[RoleStatus, ...] | None) -> list[tuple[str, ...]]:
    return sorted(
        (each.serving_group_name, each.role_name, each.role_id, each.status)
        for each in statuses or ()
    )
