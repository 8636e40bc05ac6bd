"""Answers of an earlier pass that still hold: a change in one namespace costs one namespace.

What the probes say about a namespace, or about a subject of a stack beside KAITO, depends on its
own objects and on a few that many share. If all of these are the same objects as before, so is the
answer. This is a matter of speed only: with
or without it an evaluation is the same.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import is_
from typing import Final, TypeAlias

from reporter.catalogue import resources as r
from reporter.model.finding import Evaluation
from reporter.model.objects import KubeObject, Namespace
from reporter.model.resource import Resource
from reporter.model.stack import Stack
from reporter.model.subject import Subject
from reporter.probes.parts import contained
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import scaler

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
    resource
    for resource in r.CLUSTER_WIDE
    if resource not in SHARED and resource.stack in (None, Stack.KAITO)
)

Inputs: TypeAlias = tuple[tuple[object, ...], ...]
"""Groups of objects that an answer rests on, beside those that many share."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about one namespace or one subject.

    Attributes:
        about: the subject; that of a namespace stands for all of KAITO in it.
        inputs: what the answer rests on, beside `SHARED`.
        ask: asks the probes.

    """

    about: Subject
    inputs: Inputs
    ask: Callable[[], Evaluation]


@dataclass(frozen=True, slots=True)
class Answered:
    """What was answered, and the objects it rests on."""

    shared: tuple[object, ...] = ()
    answers: Mapping[Subject, tuple[Inputs, Evaluation]] = field(default_factory=dict)


def answer(
    questions: Iterable[Question], shared: tuple[object, ...], answered: Answered
) -> Answered:
    """Return the answers, those of before where what they rest on is the same."""
    earlier = answered.answers if same_shared(shared, answered.shared) else {}
    answers: dict[Subject, tuple[Inputs, Evaluation]] = {}
    for question in questions:
        before = earlier.get(question.about)
        if before is not None and same_objects(question.inputs, before[0]):
            answers[question.about] = before
        else:
            answers[question.about] = question.inputs, contained(question.ask, question.about)
    return Answered(shared, answers)


def shared_inputs(snapshot: Snapshot, settings: EvaluationSettings) -> tuple[object, ...]:
    """Return what the answers about all namespaces rest on."""
    return (
        settings,
        snapshot.discovery,
        snapshot.covered,
        snapshot.skipped,
        {resource: state.served for resource, state in snapshot.states.items()},
        _scaler_place(snapshot, settings),
        *(tuple(snapshot[resource]) for resource in SHARED),
    )


def _scaler_place(snapshot: Snapshot, settings: EvaluationSettings) -> tuple[str, str] | None:
    """Return where the scaler runs: network policies of all namespaces are to admit it."""
    component = scaler(settings)
    found = component.found(snapshot) if component else ()
    return (found[0].namespace, found[0].name) if found else None


def own_inputs(snapshot: Snapshot, namespace: Namespace) -> Inputs:
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
