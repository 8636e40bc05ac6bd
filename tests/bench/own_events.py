"""Events of ours that call for nothing, as many as an hour of trouble leaves."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from typing import Final

import msgspec

from lab.sandbox.objects import Object
from reporter.catalogue.resources import EVENTS
from reporter.kube.decode import decode_page
from reporter.model.objects import Event
from reporter.model.reason import EventType
from reporter.model.report import Disposition, ReadySubject, ResolvedFinding
from reporter.model.subject import Layer, ObjectRef, Subject
from reporter.resolution.records import RecordState
from reporter.sinks.events.plan import STATE_LABEL, finding_event, ready_event
from reporter.stacks.kaito.reasons import INFERENCESETS, MODEL_EPP, MODEL_READY
from tests.bench.cluster import Model

_AGO: Final = timedelta(minutes=55)
_APART: Final = timedelta(seconds=1)


def events_over(models: Sequence[Model], number: int) -> tuple[Event, ...]:
    """Return so many: faults that are over, each of an episode of its own, and a Ready for each model.

    The Ready answers the faults, so that nothing is left to be told. With more models than that it is a Ready each.
    """
    return decode_page(EVENTS, page_of_events(models, number)).objects


def page_of_events(models: Sequence[Model], number: int) -> bytes:
    """Return the same as the API server lists them."""
    began = datetime.now(UTC) - _AGO
    faults = islice(cycle(models), max(0, number - len(models)))
    events = [_fault(model, began + each * _APART) for each, model in enumerate(faults)]
    ended = began + number * _APART
    events += [_ready(model, ended) for model in models]
    head = b'{"kind":"EventList","metadata":{"resourceVersion":"1"},"items":['
    items = b",".join(map(msgspec.json.encode, events))
    return head + items + b"]}"


def _fault(model: Model, since: datetime) -> Object:
    picker = ObjectRef("apps/v1", "Deployment", model.namespace, model.picker)
    finding = ResolvedFinding(
        reason=MODEL_EPP,
        layer=Layer.DEPLOYMENT,
        type=EventType.WARNING,
        subject=_subject(model),
        involved=picker,
        related=picker,
        disposition=Disposition.FIRING,
        message=f"Deployment {model.picker} has 0 of 2 replicas available",
        cause="0 of 2 replicas available",
        since=since,
    )
    event: Object = msgspec.to_builtins(finding_event(finding, since, "bench"))
    event["metadata"]["labels"][STATE_LABEL] = str(RecordState.OVER)
    return event


def _ready(model: Model, at: datetime) -> Object:
    own = INFERENCESETS.ref_named(model.namespace, model.name)
    ready = ReadySubject(
        reason=MODEL_READY,
        layer=Layer.DEPLOYMENT,
        subject=_subject(model),
        involved=own,
        related=own,
        message="3 of 3 replicas are ready",
        due=True,
        episode=model.name,
    )
    found: Object = msgspec.to_builtins(ready_event(ready, at, "bench"))
    return found


def _subject(model: Model) -> Subject:
    return Subject(INFERENCESETS.subject_kind, model.namespace, model.name)
