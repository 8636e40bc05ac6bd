"""What fired goes on beside young faults of its object."""

import pytest

from tests.unit.resolution.building import NOON, Resolver, finding, seconds

PODS = "inferencesetModelPodsNotReady"


@pytest.mark.parametrize(("severity", "worst"), [(1, "slow again"), (9, "other")])
def test_each_young_fault_of_a_pod_keeps_the_time_at_which_it_is_due(severity, worst):
    """Whichever of them is worse: the reporter wakes for the first one, then for the other."""
    resolver = Resolver()

    def loads(message, began):
        return finding(
            PODS, message=message, severity=5, budget=seconds(30), lingers=True,
            transition=NOON + seconds(began),
        )  # fmt: skip

    for at in (0, 60):
        resolver.look(at, loads("slow", 0))
    again = loads("slow again", 70)
    other = finding(PODS, message="other", severity=severity, lingers=True)
    assert resolver.look(70, again, other) == {PODS: "firing"}
    assert resolver[PODS].message == "slow"
    assert resolver.wake_in == seconds(30)
    resolver.look(100, again, other)
    assert resolver[PODS].message == "slow again"
    assert resolver.wake_in == seconds(30)
    resolver.look(130, again, other)
    assert resolver[PODS].message == f"{worst} (and 1 more)"
