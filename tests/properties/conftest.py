"""Hypothesis: the same examples in each run, without a time limit for a single one."""

from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "properties",
    max_examples=int(__import__("os").environ.get("N", "150")),
    deadline=None,
    derandomize="N" not in __import__("os").environ,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("properties")
