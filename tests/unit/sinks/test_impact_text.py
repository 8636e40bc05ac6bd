"""Whom a cause hits, in words."""

import pytest

from reporter.model.report import Impact
from reporter.sinks.words import NOBODY, impact_text


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((0, 0, 0), NOBODY),
        ((1, 0, 1), "1 model does not serve"),
        ((12, 0, 4), "12 models in 4 namespaces do not serve"),
        ((0, 1, 1), "1 model serves, degraded"),
        ((0, 3, 2), "3 models in 2 namespaces serve, degraded"),
        ((2, 1, 1), "2 models do not serve, 1 serves degraded"),
        (
            (930, 0, 1, 70),
            "930 models do not serve because of it; 70 more do not serve for other causes",
        ),
        ((0, 1, 1, 1), "1 model serves, degraded; 1 more does not serve for other causes"),
        ((0, 0, 0, 2), "2 models do not serve for other causes"),
        ((1, 2, 3), "1 model does not serve, 2 serve degraded, in 3 namespaces"),
    ],
)
def test_impact_in_words(counts, text):
    """The models that do not serve come first, and each number has its verb."""
    assert impact_text(Impact(*counts)) == text
