"""Answers of an earlier pass that still hold: a change in one namespace costs one namespace.

What the probes say about a namespace depends on its own objects and on a few that many share. If
all of these are the same objects as before, so is the answer. This is a matter of speed only: with
or without it an evaluation is the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import is_
from typing import Final, TypeAlias

from reporter.catalogue import resources as r
from reporter.model.finding import Evaluation
from reporter.model.objects import KubeObject, Namespace
from reporter.model.resource import Resource
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot

SHARED: Final[tuple[Resource[KubeObject], ...]] = (
    r.CONFIGMAPS,
    r.GATEWAYCLASSES,
    r.GATEWAYS,
    r.NAMESPACES,
    r.NODES,
    r.SERVICES,
)
"""Read beyond the namespace in question: a route's Gateway may be elsewhere, pods share nodes."""

OWN: Final[tuple[Resource[KubeObject], ...]] = tuple(
    resource for resource in r.CLUSTER_WIDE if resource not in SHARED
)

_Objects: TypeAlias = tuple[KubeObject, ...]
_Inputs: TypeAlias = tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """What was said about each namespace, and the objects it rests on."""

    shared: tuple[object, ...] = ()
    spaces: Mapping[str, tuple[_Inputs, Evaluation]] = field(default_factory=dict)


def shared_inputs(snapshot: Snapshot, settings: EvaluationSettings) -> tuple[object, ...]:
    """Return what the answers about all namespaces rest on."""
    return (
        settings,
        snapshot.discovery,
        snapshot.covered,
        snapshot.skipped,
        {resource: state.served for resource, state in snapshot.states.items()},
        *(tuple(snapshot[resource]) for resource in SHARED),
    )


def own_inputs(snapshot: Snapshot, namespace: Namespace) -> tuple[_Objects, ...]:
    """Return the objects of a namespace that its probes read."""
    return tuple(snapshot[resource].in_namespace(namespace.name) for resource in OWN)


def same_shared(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Tell whether shared inputs are the same."""
    split = len(one) - len(SHARED)
    if len(one) != len(other) or one[:split] != other[:split]:
        return False
    return same_objects(one[split:], other[split:])


def same_objects(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Tell whether two rows of groups hold the same objects, and not only equal ones."""
    return len(one) == len(other) and all(
        isinstance(mine, tuple)
        and isinstance(theirs, tuple)
        and len(mine) == len(theirs)
        and all(map(is_, mine, theirs))
        for mine, theirs in zip(one, other, strict=True)
    )
