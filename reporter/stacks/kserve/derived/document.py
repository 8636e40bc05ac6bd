"""A status as the API writes it."""

from collections.abc import Mapping
from typing import cast

import msgspec

from reporter.stacks.kserve.objects import InferenceServiceStatus


def document_of(status: InferenceServiceStatus) -> dict[str, object]:
    """Return the fields of a status that are read, without those that are empty; 0 is a value."""
    return cast("dict[str, object]", _without_empty(msgspec.to_builtins(status)))


def _without_empty(value: object) -> object:
    if isinstance(value, Mapping):
        pruned = {key: _without_empty(each) for key, each in value.items()}
        return {key: each for key, each in pruned.items() if not _is_empty(each)}
    if isinstance(value, (list, tuple)):
        return [_without_empty(each) for each in value]
    return value


def _is_empty(value: object) -> bool:
    return value in (None, "", [], {})
