"""Which firing reason hides which others: the rows of two tables.

A row needs evidence that the downstream check has no valid input while the upstream fires. A
correlation is not enough.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SuppressionRow:
    """While `upstream` fires, `downstream` is suppressed, for the subjects that it governs.

    `crd` narrows a row of `clusterCRDMissing` to one CustomResourceDefinition.
    """

    upstream: str
    downstream: tuple[str, ...]
    why: str
    crd: str = ""


@dataclass(frozen=True, slots=True)
class PodSuppressionRow:
    """While `upstream` fires for a pod, `downstream` is suppressed for that pod alone."""

    upstream: str
    downstream: tuple[str, ...]
    why: str
