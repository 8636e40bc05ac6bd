"""Rows as stacks have them: about the deployment of a model, and about a controller."""

from dataclasses import replace
from typing import Final

from reporter.catalogue import resources as r
from reporter.model.objects import KubeObject
from reporter.model.reason import EventType, Reason
from reporter.model.resource import Resource
from reporter.model.subject import Layer, RequestStage, SubjectKind

SHARED_SILENT: Final = (
    "A rollout in progress within its deadline, terminating pods, a component that is switched off, "
    "or that is not there and nothing needs; a leftover at zero replicas where it moved from."
)
SHARED_TRIGGER: Final = (
    "is down (missing, scaled to zero, no available replica) or degraded (fewer ready replicas "
    "than wanted and no rollout in progress, or a rollout past its deadline)."
)


def row(
    name: str,
    summary: str,
    *,
    of: SubjectKind,
    trigger: str,
    silent: str = "",
    action: str,
    reads: tuple[Resource[KubeObject], ...],
    grace_seconds: int | None = None,
    grace_note: str = "",
    stage: RequestStage | None = None,
) -> Reason:
    """Return a row of the priority chain, which keeps its subject from being ready."""
    return Reason(
        name=name,
        layer=Layer.DEPLOYMENT,
        of=of,
        summary=summary,
        trigger=trigger,
        silent=silent,
        action=action,
        reads=reads,
        grace_seconds=grace_seconds,
        grace_note=grace_note,
        stage=stage,
    )


def outside_chain(reason: Reason, type_: EventType = EventType.WARNING) -> Reason:
    """Return a row outside of the chain: it does not keep the model from serving."""
    return replace(reason, type=type_, chain=False, blocks_ready=False)


def switch_off(part: str) -> str:
    """Return what to do where a shared part is not wanted; it follows other sentences."""
    return f" Where it is not wanted: --components {part}=off."


def controller_row(name: str, what: str, *, setting: str, frozen: str) -> Reason:
    """Return the row of the controller of a stack, whose part and settings begin alike."""
    return Reason(
        name=name,
        layer=Layer.CLUSTER,
        summary=f"{what} is not available.",
        trigger=f"The Deployment named by --{setting}-deployment {SHARED_TRIGGER}",
        silent=SHARED_SILENT,
        action="Look at the Deployment that the message names, its pods and their logs. While it "
        f"is down, {frozen}.{switch_off(setting)}",
        reads=(r.DEPLOYMENTS,),
    )


def ready_row(
    name: str,
    summary: str,
    *,
    of: SubjectKind,
    trigger: str,
    reads: tuple[Resource[KubeObject], ...],
) -> Reason:
    """Return the row by which a deployment is said to serve."""
    return Reason(
        name=name,
        layer=Layer.DEPLOYMENT,
        of=of,
        type=EventType.NORMAL,
        says_ready=True,
        summary=summary,
        trigger=trigger,
        action="Nothing.",
        reads=reads,
        chain=False,
        blocks_ready=False,
    )
