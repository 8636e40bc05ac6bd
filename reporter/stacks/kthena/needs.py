"""What shows that a cluster needs Kthena."""

from typing import Final

from reporter.catalogue import resources as r
from reporter.model.stack import Need, need
from reporter.stacks.kthena.resources import MODELSERVINGS, MODELSERVINGS_FORMER

_MADE_FOR: Final = "modelserving.volcano.sh/name"
_MAKES: Final = "the Kthena controller makes the pods of each (volcano-sh/kthena, ModelServing)"

OF_KTHENA: Final[tuple[Need, ...]] = (
    need(MODELSERVINGS, "ModelServings", evidence=_MAKES),
    need(
        MODELSERVINGS_FORMER, "ModelServings of the group that they had at first", evidence=_MAKES
    ),
)
PODS_OF_MODELSERVINGS: Final = need(
    r.PODS,
    f"Pods with the label {_MADE_FOR}",
    evidence="they are replicas of the ModelServing that the label names "
    "(volcano-sh/kthena, ModelServing)",
    shows=lambda pod, _: pod.metadata.label(_MADE_FOR) is not None,
)
