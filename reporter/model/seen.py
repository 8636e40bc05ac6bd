"""What a process remembers of shared parts: what vanished was there, and what is hidden was needed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from reporter.model.subject import ObjectRef

PartKey: TypeAlias = tuple[str, str]
"""A reason of the cluster and what it is about: the name of a Deployment, or of a CRD."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What earlier passes saw, and our Events on record tell.

    Attributes:
        there: Deployments and CRDs of shared parts that were there, each with its reference.
        needed: which object showed the need of a part when it could be read last.

    """

    there: Mapping[PartKey, ObjectRef] = field(default_factory=dict)
    needed: Mapping[PartKey, str] = field(default_factory=dict)
