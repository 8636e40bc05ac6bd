"""`status.labelSelector`, by which an autoscaler finds the pods of a ModelServing."""

from collections import Counter
from collections.abc import Sequence

from reporter.stacks.kthena.derived.observed import GroupState
from reporter.stacks.kthena.objects import (
    ENTRY_LABEL,
    NAME_LABEL,
    ROLE_ID_LABEL,
    ROLE_LABEL,
    ModelServing,
)


def label_selector(modelserving: ModelServing, groups: Sequence[GroupState]) -> str:
    """Return a selector of one entry pod in each group; empty for a ModelServing without roles.

    A HorizontalPodAutoscaler multiplies its ratio by the number of pods that are selected, so a
    selector must name one instance of one role and not all entry pods. Kthena always names
    instance 0 of the first role and selects nothing while that is not there. Here it is the
    first role that has an entry pod anywhere, and of its instances the one that most groups have.
    While everything exists that is Kthena's choice, too.
    """
    role, identity = _chosen(modelserving, groups)
    if not role:
        return ""
    labels = {
        ENTRY_LABEL: "true",
        NAME_LABEL: modelserving.name,
        ROLE_ID_LABEL: identity,
        ROLE_LABEL: role,
    }
    return ",".join(sorted(f"{key}={value}" for key, value in labels.items()))


def _chosen(modelserving: ModelServing, groups: Sequence[GroupState]) -> tuple[str, str]:
    """Return the name of a role, and the ID of an instance of it."""
    held = Counter(
        (each.role, each.ordinal, each.id)
        for group in groups
        if not group.deleting
        for each in group.instances
        if any(pod.metadata.label(ENTRY_LABEL) == "true" for pod in each.pods)
    )
    for role in modelserving.roles:
        found = [key for key in held if key[0] == role.name]
        if found:
            _, _, identity = min(found, key=lambda key: (-held[key], *key))
            return role.name, identity
    wanted = [role for role in modelserving.roles if role.wanted] or modelserving.roles
    return (wanted[0].name, f"{wanted[0].name}-0") if wanted else ("", "")
