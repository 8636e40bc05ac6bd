"""Hypothesis: the same examples in each run, without a time limit for a single one.

A test here is a hundred tests, so that it has a longer time limit than others: what takes seconds
on one machine takes minutes on another that is busy.

`PROPERTY_EXAMPLES=2000 pytest tests/properties` tries that many new ones. `PROPERTY_PROFILE`
names another profile: `mutants` tries few and does not look for a smaller one.
"""

import os
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, Phase, settings

_LIMIT_SECONDS: Final = 1200
_ASKED = os.environ.get("PROPERTY_EXAMPLES")

settings.register_profile(
    "properties",
    max_examples=int(_ASKED or 100),
    deadline=None,
    derandomize=_ASKED is None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "mutants",
    settings.get_profile("properties"),
    max_examples=12,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile(os.environ.get("PROPERTY_PROFILE", "properties"))


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            limit = _LIMIT_SECONDS * max(1, int(_ASKED or 0) // 100)
            item.add_marker(pytest.mark.timeout(limit))
