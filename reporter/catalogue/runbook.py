"""What an operator asks of a reason at night: do users get errors, how to look, how to keep it quiet."""

from collections.abc import Callable, Iterator
from typing import Final

from reporter.catalogue import resources as r
from reporter.catalogue.reasons import (
    CLUSTER_CRD_MISSING,
    CLUSTER_NODE,
    CLUSTER_STATUS_UNKNOWN,
)
from reporter.catalogue.runtime import DOWNLOADS
from reporter.model.catalogue import Catalogue
from reporter.model.commands import commands_for
from reporter.model.objects import KubeObject
from reporter.model.reason import EventType, Reason
from reporter.model.resource import Resource
from reporter.model.subject import Layer, ObjectRef

_BY_WORD: Final[tuple[tuple[str, Resource[KubeObject]], ...]] = (
    ("EPP", r.DEPLOYMENTS),
    ("Route", r.HTTPROUTES),
    ("Pool", r.INFERENCEPOOLS),
    ("Gateway", r.GATEWAYS),
    ("Node", r.NODES),
    ("Pods", r.PODS),
    ("Role", r.PODS),
    ("Storage", r.PODS),
    ("ModelLoad", r.PODS),
)
"""A word in the name of a reason, and the object at fault that it stands for where that is read."""

_OF_DOWNLOADS: Final = tuple(each.name for each in DOWNLOADS)

_IMPACT: Final[tuple[tuple[Callable[[Reason], bool], str], ...]] = (
    (lambda reason: reason.says_ready, "No: it says that all is well."),
    (
        lambda reason: reason.name == CLUSTER_STATUS_UNKNOWN,
        "Nobody knows: it is about what the reporter sees, and not about the stack.",
    ),
    (lambda reason: reason.type is EventType.NORMAL, "No: it is worth knowing, and no fault."),
    (
        lambda reason: reason.on_path,
        "Yes while nothing of it works and a filter or policy of their Gateway asks it, unless that fails open.",
    ),
    (
        lambda reason: reason.name == CLUSTER_NODE,
        "Yes, where a model has no Ready pod on another node. A node that is cordoned or lacks devices only takes no new pods.",
    ),
    (
        lambda reason: reason.layer is Layer.CLUSTER,
        "Not by itself: models that run go on serving; none comes up, changes or scales meanwhile.",
    ),
    (
        lambda reason: reason.layer is Layer.HARNESS,
        "They may: requests to models of the namespace depend on it. The report counts those models.",
    ),
    (
        lambda reason: reason.name.endswith(_OF_DOWNLOADS),
        "Yes, where no other pod of the model serves: one that downloads its weights is not Ready.",
    ),
    (
        lambda reason: not reason.chain,
        "Some may: the model serves, degraded; requests are slower, or a part of them fails.",
    ),
    (
        lambda _: True,
        "Yes, where the model is not serving; where it is degraded, what is left of it serves.",
    ),
)
"""Whether users get errors: the first line that applies to a reason."""

_NAMESPACE: Final = "namespace-of-it"
_NAME: Final = "name-of-it"
_PLURAL: Final = "plural-of-it"
_GROUP: Final = "group-of-it"


def users_get(reason: Reason) -> str:
    """Return whether users get errors while a reason fires; the report says which models are hit."""
    return next(text for applies, text in _IMPACT if applies(reason))


def looks(reason: Reason, catalogue: Catalogue) -> tuple[str, ...]:
    """Return the commands that show what a reason is about, with room for the names."""
    if reason.says_ready:
        return ()
    ref = _at_fault(reason, catalogue)
    own = commands_for(ref) if ref is not None else ()
    room = f"<{ref.kind.lower()}>" if ref is not None else ""
    filled = (
        each.replace(_NAMESPACE, "<namespace>")
        .replace(_NAME, room)
        .replace(_PLURAL, "<plural>")
        .replace(_GROUP, "<group>")
        for each in own
    )
    return tuple(dict.fromkeys((*filled, *reason.look, *_of_metrics(reason))))


def switched_off(reason: Reason) -> str:
    """Return how to keep a reason from being told."""
    if reason.says_ready:
        return f"--disable-reasons {reason.name}."
    muted = ", or for one object the annotation status-reporter.io/mute" if reason.mutable else ""
    return f"--disable-reasons {reason.name}{muted}. The report shows it all the same."


def _of_metrics(reason: Reason) -> Iterator[str]:
    if reason.window_seconds is not None:
        yield "status-reporter status --pod <namespace>/<pod>"


def _at_fault(reason: Reason, catalogue: Catalogue) -> ObjectRef | None:
    """Return what stands for the object that is mostly at fault."""
    if reason.name == CLUSTER_CRD_MISSING:
        name = f"{_PLURAL}.{_GROUP}"
        return ObjectRef("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
    found = _resource(reason, catalogue)
    if found is None:
        return None
    return found.ref_named(_NAMESPACE if found.namespaced else "", _NAME)


def _resource(reason: Reason, catalogue: Catalogue) -> Resource[KubeObject] | None:
    reads = reason.all_reads
    if reason.window_seconds is not None:
        return r.PODS
    if reason.layer is not Layer.DEPLOYMENT:
        return reason.reads[0] if reason.reads else None
    for word, resource in _BY_WORD:
        if word in reason.name and resource in reads:
            return resource
    return next(iter(catalogue.of_subject(reason.subject_kind)), None)
