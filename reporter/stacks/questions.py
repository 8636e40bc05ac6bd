"""The stacks beside KAITO: what is asked about each of their subjects.

To add a stack: its resources, its reasons, a package of probes, and a row here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, Protocol, TypeVar

from reporter.catalogue import resources as r
from reporter.metrics.looks.samples import Samples
from reporter.model.finding import Evaluation
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.stack import Stack
from reporter.model.subject import Subject
from reporter.probes.reuse import Inputs, Question
from reporter.setting_types import StackMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.kserve.probes import (
    evaluate_inferenceservice,
    inferenceservice_inputs,
)
from reporter.stacks.kthena.probes import evaluate_modelserving, modelserving_inputs
from reporter.stacks.otterscale.probes import evaluate_modelservice, modelservice_inputs

ObjectT = TypeVar("ObjectT", bound=KubeObject)


@dataclass(frozen=True, slots=True)
class StackProbes(Generic[ObjectT]):
    """How the subjects of one stack are evaluated.

    Attributes:
        stack: which.
        resources: where its subjects are; of two with the same name that of the first counts.
        inputs: the objects that the answer about a subject rests on.
        evaluate: what is said about a subject.

    """

    stack: Stack
    resources: tuple[Resource[ObjectT], ...]
    inputs: Callable[[ObjectT, Snapshot, Samples], Inputs]
    evaluate: Callable[[ObjectT, Snapshot, EvaluationSettings, Samples], Evaluation]

    def questions(
        self, snapshot: Snapshot, settings: EvaluationSettings, samples: Samples
    ) -> Iterator[Question]:
        """Yield what is asked about each subject; one that is being deleted is none."""
        asked: set[Subject] = set()
        for resource in self.resources:
            for obj in snapshot[resource]:
                subject = subject_of(resource, obj)
                if obj.deleting or subject in asked or _goes(obj.namespace, snapshot):
                    continue
                asked.add(subject)
                yield Question(
                    subject,
                    ((obj,), *self._inputs(obj, snapshot, samples)),
                    partial(self.evaluate, obj, snapshot, settings, samples),
                )

    def _inputs(self, obj: ObjectT, snapshot: Snapshot, samples: Samples) -> Inputs:
        """Return what the answer rests on; where that fails, what is never the same again.

        So the subject is asked about in each pass, and what fails then leaves only it open.
        """
        try:
            return self.inputs(obj, snapshot, samples)
        except Exception:  # noqa: BLE001  # the question derives the same, and tells where it fails
            return ((object(),),)


class Asks(Protocol):
    """What is asked about the subjects of a stack, whatever the type of its objects."""

    @property
    def stack(self) -> Stack:
        """Which stack it is."""

    def questions(
        self, snapshot: Snapshot, settings: EvaluationSettings, samples: Samples
    ) -> Iterator[Question]:
        """Yield what is asked about each subject."""


STACKS: Final[tuple[Asks, ...]] = (
    StackProbes(
        stack=Stack.KTHENA,
        resources=(r.MODELSERVINGS, r.MODELSERVINGS_FORMER),
        inputs=modelserving_inputs,
        evaluate=evaluate_modelserving,
    ),
    StackProbes(
        stack=Stack.KSERVE,
        resources=(r.INFERENCESERVICES,),
        inputs=inferenceservice_inputs,
        evaluate=evaluate_inferenceservice,
    ),
    StackProbes(
        stack=Stack.OTTERSCALE,
        resources=(r.MODELSERVICES,),
        inputs=modelservice_inputs,
        evaluate=evaluate_modelservice,
    ),
)


def stack_questions(
    snapshot: Snapshot, settings: EvaluationSettings, samples: Samples
) -> Iterator[Question]:
    """Yield what is asked about the subjects of all stacks that are not switched off."""
    for each in STACKS:
        if settings.stack(each.stack) is not StackMode.OFF:
            yield from each.questions(snapshot, settings, samples)


def subject_of(resource: Resource[KubeObject], obj: KubeObject) -> Subject:
    """Return the subject that an object is."""
    if resource.subject_kind is None:
        raise ValueError(f"{resource} has no subjects")
    return Subject(resource.subject_kind, obj.namespace, obj.name)


def _goes(namespace: str, snapshot: Snapshot) -> bool:
    """Tell whether a namespace is being deleted, and its subjects with it."""
    known = snapshot[r.NAMESPACES].get("", namespace)
    return known is not None and known.deleting
