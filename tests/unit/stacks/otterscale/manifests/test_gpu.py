"""Accelerators: the extended resource that pods ask for, and how many."""

import pytest

from reporter.stacks.otterscale.manifests import wanted as gpu
from reporter.stacks.otterscale.objects import Parallelism, Resources


@pytest.mark.parametrize(
    ("accelerator", "name"),
    [
        ("nvidia", "nvidia.com/gpu"),
        ("amd", "amd.com/gpu"),
        ("intel-gaudi", "habana.ai/gaudi"),
        ("google", "google.com/tpu"),
        ("cpu", None),
        ("of tomorrow", None),
    ],
)
def test_resource_name(accelerator, name):
    assert gpu.RESOURCE_NAMES.get(accelerator) == name
    made = gpu.with_accelerators(Resources(), accelerator, 2)
    assert made == ({"limits": {name: "2"}, "requests": {name: "2"}} if name else {})


@pytest.mark.parametrize(
    ("parallelism", "count"),
    [
        (Parallelism(), 1),
        (Parallelism(tensor=4), 4),
        (Parallelism(tensor=4, data_local=2), 8),
        (Parallelism(data=8), 1),
        (Parallelism(tensor=2, data=4, data_local=2), 4),
        (Parallelism(tensor=0, data_local=-1), 1),
    ],
)
def test_count(parallelism, count):
    assert gpu.count(parallelism) == count


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (
            Resources(limits={"memory": "16Gi"}, requests={"cpu": 4}),
            {
                "limits": {"memory": "16Gi", "nvidia.com/gpu": "1"},
                "requests": {"cpu": 4, "nvidia.com/gpu": "1"},
            },
        ),
        (
            Resources(limits={"nvidia.com/gpu": 7}),
            {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}},
        ),
        (
            Resources(claims=({"name": "gpu"},)),
            {
                "limits": {"nvidia.com/gpu": "1"},
                "requests": {"nvidia.com/gpu": "1"},
                "claims": [{"name": "gpu"}],
            },
        ),
    ],
)
def test_the_users_resources_stay_but_for_that_key(given, made):
    assert gpu.with_accelerators(given, "nvidia", 1) == made


def test_none_are_asked_for_where_the_count_is_0():
    assert gpu.with_accelerators(Resources(), "nvidia", 0) == {}
