"""What hides reasons of ModelServings, and why that is no mere correlation."""

from typing import Final

from reporter.catalogue.suppression import missing_kind, seen_on_objects
from reporter.model.suppression import SuppressionRow
from reporter.stacks.kthena.reasons import CLUSTER_KTHENA, NEEDS_CONTROLLER, REASONS
from reporter.stacks.kthena.resources import MODELSERVINGS

SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
    SuppressionRow(
        CLUSTER_KTHENA,
        NEEDS_CONTROLLER,
        "the Kthena controller creates the pods of ModelServings and replaces old ones",
    ),
    missing_kind(MODELSERVINGS, *seen_on_objects(REASONS)),
)
