"""What the built-in catalogue holds, as tests ask for it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from types import SimpleNamespace

import pytest

from reporter.catalogue import runtime
from reporter.catalogue.pickers import FROM_PAGES
from reporter.catalogue.resources import BY_PLACE
from reporter.catalogue.runtime import of_kind
from reporter.stacks import BUILT_IN, STACKS

Stack = StrEnum("Stack", {each.name.upper(): each.name for each in STACKS})
"""The names of the stacks."""

REASONS = BUILT_IN.reasons
BY_NAME = {each.name: each for each in REASONS}
SUPPRESSION = BUILT_IN.suppression
POD_SUPPRESSION = BUILT_IN.pod_suppression
CLUSTER_WIDE = BUILT_IN.resources
ALL = (*CLUSTER_WIDE, *BY_PLACE)
PICKED_KINDS = tuple(each.pickers.kind for each in STACKS if each.pickers)
SCRAPED_KINDS = tuple(each.scraped.kind for each in STACKS if each.scraped)
SCRAPED = tuple(
    SimpleNamespace(stack=Stack(each.name), **asdict(each.scraped))
    for each in STACKS
    if each.scraped and each.scraped.picks_container
)
"""The stacks that say which container of their pods serves metrics."""

FROM_METRICS = frozenset(of_kind(each, BUILT_IN.metrics_kind) for each in FROM_PAGES)
"""The reasons that come from metrics, by the names that settings call them."""


def rows(names: str | Sequence[str], table: Mapping[str, object]) -> pytest.MarkDecorator:
    """Run a test for each row of a table, under the row's name."""
    return pytest.mark.parametrize(names, table.values(), ids=table)


def subjects_of(stack):
    """Return the resources whose objects are the subjects of a stack."""
    return BUILT_IN.stack(stack).subjects


class OfInferenceSets:
    """The reasons that come from metrics, by the names of their constants, as InferenceSets have them."""

    def __getattr__(self, constant: str) -> str:
        return of_kind(getattr(runtime, constant), BUILT_IN.metrics_kind)

    @property
    def RUNTIME_NAMES(self) -> tuple[str, ...]:  # noqa: N802  # as the catalogue calls them
        """Those that settings tune."""
        return tuple(of_kind(each, BUILT_IN.metrics_kind) for each in runtime.RUNTIME_NAMES)


of_inferencesets = OfInferenceSets()
