"""What hides reasons of ModelServings, and why that is no mere correlation."""

from typing import Final

from reporter.catalogue.suppression import missing_kind, on_a_node, seen_on_objects
from reporter.model.reason import SuppressionRow
from reporter.stacks.kthena.reasons import (
    CLUSTER_KTHENA,
    NEEDS_CONTROLLER,
    REASONS,
    ROLE_CREATING,
    ROLE_DELETING,
)
from reporter.stacks.kthena.resources import MODELSERVINGS

SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
    on_a_node(CLUSTER_KTHENA, ROLE_CREATING, ROLE_DELETING),
    SuppressionRow(
        CLUSTER_KTHENA,
        NEEDS_CONTROLLER,
        "the Kthena controller creates the pods of ModelServings and replaces old ones",
    ),
    missing_kind(MODELSERVINGS, *seen_on_objects(REASONS)),
)
