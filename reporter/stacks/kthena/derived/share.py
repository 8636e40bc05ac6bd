"""Our share of a ModelServing's status, in a form that can be compared."""

import hashlib
from collections.abc import Collection
from typing import Final

import msgspec

from reporter.model.finding import Document
from reporter.stacks.kthena.objects import ModelServingStatus

ROLE_STATUSES: Final = "roleStatuses"
OMITTED: Final = "roleStatusesOmitted"

ROLES_FIELDS: Final = frozenset({ROLE_STATUSES, OMITTED})
"""The fields that are ours where a controller owns the rest."""

_TIME: Final = "lastTransitionTime"


def status_document(status: ModelServingStatus) -> Document:
    """Return a status in the shape of the API, as far as it is read."""
    document: Document = msgspec.to_builtins(status)
    return document


def our_share(status: Document, *, whole: bool, without: Collection[str] = ()) -> Document:
    """Return what is ours of a status, without what is empty: JSON of this API leaves it out.

    Args:
        status: in the shape of the API.
        whole: whether all of it is ours, or `ROLES_FIELDS` only.
        without: fields to leave out; how many roles are omitted means nothing without the roles.

    """
    left_out = {*without, OMITTED} if ROLE_STATUSES in without else without
    return {
        name: value
        for name, value in status.items()
        if value and (whole or name in ROLES_FIELDS) and name not in left_out
    }


def digest(share: Document) -> str:
    """Return what is the same for shares that say the same; times of conditions say nothing."""
    compared = {name: _compared(value) for name, value in share.items()}
    encoded = msgspec.json.encode(compared, order="sorted")
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()


def _compared(value: object) -> object:
    if not isinstance(value, list | tuple):
        return value
    return [
        {name: each for name, each in item.items() if each and name != _TIME}
        if isinstance(item, dict)
        else item
        for item in value
    ]
