"""Hypothesis: the same examples in each run, without a time limit for a single one."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "properties",
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("properties")
