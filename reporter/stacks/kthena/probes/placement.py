"""What a ModelServing asks of the places of its pods, for a message about pods that get none.

Whether that is why there is no room, only the scheduler knows: it is said as what was asked for.
"""

from collections.abc import Iterator
from typing import Final

from reporter.model.text import clean, cut
from reporter.stacks.kthena.objects import ModelServingSpec, NetworkTopology, TopologyPolicy

_KEY_BYTES: Final = 80
_SOFT: Final = "ScheduleAnyway"


def placement(spec: ModelServingSpec) -> str:
    """Return what narrows the choice of nodes, with a separator before; empty where nothing does."""
    topology = spec.template.network_topology
    asked = [*_tiers(topology)] if topology is not None else []
    keys = sorted(
        {
            _name(each.topology_key)
            for each in spec.topology_spread_constraints or ()
            if each.topology_key and each.when_unsatisfiable != _SOFT
        }
    )
    if keys:
        asked.append(f"pods spread over {', '.join(keys)} (topologySpreadConstraints)")
    return f"; it asks for {' and '.join(asked)}" if asked else ""


def _tiers(topology: NetworkTopology) -> Iterator[str]:
    policies = (("a group", topology.group_policy or topology), ("a role", topology.role_policy))
    for what, policy in policies:
        tier = _tier(policy) if policy is not None and policy.is_hard else ""
        if tier:
            yield f"all pods of {what} within {tier} (networkTopology, hard)"


def _tier(policy: TopologyPolicy) -> str:
    if policy.highest_tier_name:
        return f"tier {_name(policy.highest_tier_name)}"
    return "" if policy.highest_tier_allowed is None else f"tier {policy.highest_tier_allowed}"


def _name(text: str) -> str:
    return cut(clean(text), _KEY_BYTES)
