"""Hypothesis: the same examples in each run, without a time limit for a single one.

`PROPERTY_EXAMPLES=2000 pytest tests/properties` tries that many new ones.
"""

import os

from hypothesis import HealthCheck, Phase, settings

_ASKED = os.environ.get("PROPERTY_EXAMPLES")

settings.register_profile(
    "properties",
    max_examples=int(_ASKED or 100),
    deadline=None,
    derandomize=_ASKED is None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("properties")
