"""Rows about the deployment of a model, whatever the stack."""

from dataclasses import replace

from reporter.model.objects import KubeObject
from reporter.model.reason import EventType, Reason
from reporter.model.resource import Resource
from reporter.model.subject import Layer


def row(
    name: str,
    summary: str,
    *,
    trigger: str,
    silent: str = "",
    action: str,
    reads: tuple[Resource[KubeObject], ...],
    grace_seconds: int | None = None,
    grace_note: str = "",
) -> Reason:
    """Return a row of the priority chain, which keeps its subject from being ready."""
    return Reason(
        name=name,
        layer=Layer.DEPLOYMENT,
        summary=summary,
        trigger=trigger,
        silent=silent,
        action=action,
        reads=reads,
        grace_seconds=grace_seconds,
        grace_note=grace_note,
    )


def beside(reason: Reason, type_: EventType = EventType.WARNING) -> Reason:
    """Return a row outside of the chain: it does not keep the model from serving."""
    return replace(reason, type=type_, chain=False, blocks_ready=False)
