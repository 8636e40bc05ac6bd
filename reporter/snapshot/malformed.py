"""Which malformed object may be the one that is sought, by what can still be read of it."""

from collections.abc import Callable
from typing import TypeAlias

from reporter.model.objects import LabelSelector
from reporter.model.report import SkippedObject

Sought: TypeAlias = Callable[[SkippedObject], bool]
"""Tells whether a malformed object may be one of those that are sought."""


def belongs_to(owner: str, label: str) -> Sought:
    """Seek what carries the name of its owner as a label.

    Where the label cannot be read, the name tells: controllers let it begin with the owner's.
    """

    def is_sought(skipped: SkippedObject) -> bool:
        found = skipped.labels.get(label) if skipped.labels is not None else None
        if found is not None:
            return found == owner
        return skipped.name == owner or skipped.name.startswith(f"{owner}-")

    return is_sought


def selected_by(selector: LabelSelector | None) -> Sought:
    """Seek what a selector selects; labels that cannot be read may be any."""

    def is_sought(skipped: SkippedObject) -> bool:
        if selector is None or skipped.labels is None:
            return selector is not None
        return selector.matches(skipped.labels)

    return is_sought
