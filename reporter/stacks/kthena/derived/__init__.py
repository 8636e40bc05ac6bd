"""The status of a ModelServing, as a pure function of what the cluster shows.

`facts_of` collects, `observe` judges groups and instances, `wanted_status` sums up.
"""

from dataclasses import dataclass

from reporter.model.finding import Document
from reporter.stacks.kthena.derived.facts import GroupState, ModelServingFacts
from reporter.stacks.kthena.derived.groups import observe
from reporter.stacks.kthena.derived.revisions import revisions_of
from reporter.stacks.kthena.derived.status import wanted_status


@dataclass(frozen=True, slots=True)
class DerivedModelServing:
    """What is seen of the groups of a ModelServing, and the status that it should have."""

    groups: tuple[GroupState, ...]
    status: Document


def derive(facts: ModelServingFacts) -> DerivedModelServing:
    """Derive the status of a ModelServing; the same facts always give the same status."""
    revisions = revisions_of(facts)
    groups = observe(facts, revisions)
    return DerivedModelServing(groups, wanted_status(facts.modelserving, groups, revisions))
