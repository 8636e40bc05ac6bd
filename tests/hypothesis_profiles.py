"""How many examples a property is tried with, and which: the same in each run.

`make test` tries few and `make test-long` many. `PROPERTY_EXAMPLES=2000 pytest tests/properties`
tries that many new ones. `PROPERTY_PROFILE` names a profile.
"""

import os
from typing import Final

from hypothesis import HealthCheck, Phase, settings

_ASKED: Final = os.environ.get("PROPERTY_EXAMPLES")

PROFILES: Final = {"few": 15, "many": 100, "mutants": 12}
"""Examples of each profile. No mutant needs a smaller example."""


def load() -> None:
    """Make the profile that is asked for the one of what is collected from now on."""
    name = os.environ.get("PROPERTY_PROFILE", "few")
    phases = [Phase.explicit, Phase.generate]
    settings.register_profile(
        name,
        max_examples=int(_ASKED or PROFILES[name]),
        # A slow machine is no fault of an example.
        deadline=None,
        derandomize=_ASKED is None,
        phases=phases if name == "mutants" else [*phases, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    settings.load_profile(name)


def examples(times: float) -> settings:
    """Return settings with so many times the examples of the profile."""
    return settings(max_examples=max(1, round(times * settings.default.max_examples)))
