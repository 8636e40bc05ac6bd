"""Answers of an earlier pass that still hold: a change in one namespace costs one namespace.

What the probes say about a namespace, or about a subject of a stack, depends on its own objects and
on a few that many share. If all of these are the same objects as before, so is the answer. This is a
matter of speed only: with or without it an evaluation is the same.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import is_
from typing import Final, TypeAlias

from reporter.catalogue import resources as r
from reporter.model.finding import Evaluation
from reporter.model.objects import KubeObject, Namespace
from reporter.model.resource import Resource
from reporter.model.seen import Seen
from reporter.model.subject import Subject
from reporter.probes.evaluation_parts import contained
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.components import readers_of_pods

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
    resource for resource in r.SHARED if resource not in SHARED
)

Inputs: TypeAlias = tuple[tuple[object, ...], ...]
"""Groups of objects that an answer rests on, besides those that many share."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about one namespace or one subject.

    Attributes:
        about: the subject; where a stack asks about a namespace, all of its subjects there.
        inputs: what the answer rests on, besides `SHARED`.
        ask: asks the probes.
        asker: the stack that asks, where another asks about the same subject.

    """

    about: Subject
    inputs: Inputs
    ask: Callable[[], Evaluation]
    asker: str = ""

    @property
    def key(self) -> tuple[Subject, str]:
        """What the answer is kept under."""
        return self.about, self.asker


@dataclass(frozen=True, slots=True)
class Answered:
    """What was answered, and the objects it rests on.

    Attributes:
        shared: the objects that all answers rest on.
        answers: the others that each rests on, and the answer.
        seen: what was seen of the shared parts, which the cluster's answers rest on.

    """

    shared: tuple[object, ...] = ()
    answers: Mapping[tuple[Subject, str], tuple[Inputs, Evaluation]] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)


def answer(
    questions: Iterable[Question], shared: tuple[object, ...], answered: Answered
) -> Answered:
    """Return the answers, those of before where what they rest on is the same."""
    earlier = answered.answers if same_shared(shared, answered.shared) else {}
    answers: dict[tuple[Subject, str], tuple[Inputs, Evaluation]] = {}
    for question in questions:
        before = earlier.get(question.key)
        if before is not None and same_objects(question.inputs, before[0]):
            answers[question.key] = before
        else:
            answers[question.key] = question.inputs, contained(question.ask, question.about)
    return Answered(shared, answers)


def shared_inputs(snapshot: Snapshot, settings: EvaluationSettings) -> tuple[object, ...]:
    """Return what the answers about all namespaces rest on."""
    return (
        settings,
        snapshot.discovery,
        snapshot.covered,
        snapshot.skipped,
        {resource: state.served for resource, state in snapshot.states.items()},
        _readers_places(snapshot, settings),
        *(tuple(snapshot[resource]) for resource in SHARED),
    )


def _readers_places(
    snapshot: Snapshot, settings: EvaluationSettings
) -> tuple[tuple[str, str], ...]:
    """Return where pods are read from: network policies of all namespaces have to admit it."""
    found = (each.found(snapshot) for each in readers_of_pods(settings))
    return tuple((each[0].namespace, each[0].name) for each in found if each)


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
