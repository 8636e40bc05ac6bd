"""The status that a ModelServing should have.

Its fields and counters are those of Kthena's `UpdateModelServingStatus`
(github.com/volcano-sh/kthena, pkg/model-serving-controller/controller/model_serving_controller.go,
v1.0.0), and `roleStatuses`.
"""

from collections.abc import Sequence

from reporter.model.finding import Document
from reporter.stacks.kthena.derived.conditions import conditions
from reporter.stacks.kthena.derived.facts import ModelServingFacts
from reporter.stacks.kthena.derived.observed import GroupState
from reporter.stacks.kthena.derived.revisions import Revisions, commonest, revisions_of
from reporter.stacks.kthena.derived.role_statuses import role_fields
from reporter.stacks.kthena.derived.selector import label_selector
from reporter.stacks.kthena.objects import ModelServing


def wanted_status(
    modelserving: ModelServing,
    groups: Sequence[GroupState],
    facts: ModelServingFacts,
    *,
    revisions: Revisions | None = None,
) -> Document:
    """Return the whole status in the shape of the API.

    Counters are always there; a text or list that is empty is not. A condition whose status
    changed since the one on record has no `lastTransitionTime`: `Derived.dated` fills it in.

    Args:
        modelserving: whose status it is, with the one on record.
        groups: what `observe` saw.
        facts: what it saw it in.
        revisions: `revisions_of(facts)`, if the caller has it.

    """
    revisions = revisions or revisions_of(facts)
    texts = {
        "currentRevision": _current_revision(modelserving, groups, revisions.update),
        "updateRevision": revisions.update or modelserving.status.update_revision,
        "labelSelector": label_selector(modelserving, groups),
    }
    return {
        "observedGeneration": modelserving.metadata.generation,
        **_counters(modelserving, groups),
        **{name: text for name, text in texts.items() if text},
        "conditions": conditions(modelserving, groups),
        **role_fields(groups),
    }


def _counters(modelserving: ModelServing, groups: Sequence[GroupState]) -> dict[str, int]:
    """Return the four counters.

    Groups that are being deleted count in `replicas` only, and so do those without pods, which are
    on no revision yet. Without a partition a finished rollout has all groups current; with one
    `currentReplicas` counts the groups that are not updated, to the end.
    """
    staying = [each for each in groups if not each.deleting]
    replicas, updated = len(groups), sum(each.updated for each in staying)
    available = sum(each.available for each in groups)
    current = sum(bool(each.revision) and not each.updated for each in staying)
    finished = updated == available == replicas == modelserving.wanted
    if finished and modelserving.partition is None:
        current = updated
    return {
        "replicas": replicas,
        "currentReplicas": current,
        "updatedReplicas": updated,
        "availableReplicas": available,
    }


def _current_revision(modelserving: ModelServing, groups: Sequence[GroupState], update: str) -> str:
    """Return the revision that the groups are leaving, or are all on.

    It moves to the update revision only when no group is on an older one, not even a group that is
    being deleted. (Kthena leaves out groups that are being deleted, and cleans up their
    ControllerRevision too early.) Until then it stays, as long as a group is on it. Else it is the
    most frequent older revision, and of equally frequent ones that of the lowest ordinal, where
    Kthena chooses at random.
    """
    recorded = modelserving.status.current_revision
    older = [each.revision for each in groups if each.revision and not each.updated]
    if not older:
        return update or recorded
    return recorded if recorded in older else commonest(older)
