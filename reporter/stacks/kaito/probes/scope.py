"""What belongs to an InferenceSet, and how its findings are put into words."""

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Final, TypeAlias, TypeVar, Unpack, cast

from reporter.catalogue.resources import (
    DEPLOYMENTS,
    HTTPROUTES,
    INFERENCEPOOLS,
    PODS,
    WORKSPACES,
)
from reporter.model.finding import Finding
from reporter.model.objects import (
    Condition,
    HttpRoute,
    InferencePool,
    InferenceSet,
    KubeObject,
    Pod,
    Workspace,
)
from reporter.model.subject import Subject
from reporter.probes.about import About, FaultFields
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.namespaces import namespace_ref
from reporter.workload.owners import CREATED_BY

WORKSPACE: Final = "kaito.sh/workspace"
"""Label of model pods: the name of their Workspace."""

_INFERENCESET: Final = "kaito.sh/inferenceset"
_OWNED_BY: Final = "kaito.sh/owned-by"
_MODELDEPLOYMENT: Final = "modeldeployment"

_AnswerT = TypeVar("_AnswerT")
_Question: TypeAlias = Callable[[InferenceSet, Snapshot], _AnswerT]


def subject_of(inferenceset: InferenceSet) -> Subject:
    """Return the subject that the findings of an InferenceSet are about."""
    return Subject.of_inferenceset(inferenceset.namespace, inferenceset.name)


def _asked_once(question: _Question[_AnswerT]) -> _Question[_AnswerT]:
    """Answer by namespace and name of the InferenceSet, once for a snapshot: all probes ask."""

    @wraps(question)
    def ask(inferenceset: InferenceSet, snapshot: Snapshot) -> _AnswerT:
        key = (question, inferenceset.namespace, inferenceset.name)
        if key not in snapshot.derived:
            snapshot.derived[key] = question(inferenceset, snapshot)
        return cast("_AnswerT", snapshot.derived[key])

    return ask


@_asked_once
def live_workspaces(inferenceset: InferenceSet, snapshot: Snapshot) -> tuple[Workspace, ...]:
    """Return the Workspaces of an InferenceSet that are not being deleted, by name."""
    made = snapshot[WORKSPACES].labelled(inferenceset.namespace, CREATED_BY, inferenceset.name)
    return tuple(each for each in made if not _is_going(each))


@_asked_once
def model_pods(inferenceset: InferenceSet, snapshot: Snapshot) -> tuple[Pod, ...]:
    """Return the pods of an InferenceSet, by name.

    Pods of a Workspace that is being deleted or known to be gone are left out: they go with it.
    """
    namespace = inferenceset.namespace
    pods = snapshot[PODS].labelled(namespace, CREATED_BY, inferenceset.name)
    if not snapshot.absence_known(WORKSPACES, namespace):
        return pods
    live = {each.name for each in live_workspaces(inferenceset, snapshot)}
    return tuple(each for each in pods if each.metadata.label(WORKSPACE) in live | {None})


def pods_of(workspace: Workspace, pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
    """Return those of `pods` that belong to a Workspace."""
    return tuple(each for each in pods if each.metadata.label(WORKSPACE) == workspace.name)


@_asked_once
def pools_of(inferenceset: InferenceSet, snapshot: Snapshot) -> tuple[InferencePool, ...]:
    """Return the InferencePools of an InferenceSet: by its label, else the one with its name."""
    place = inferenceset.namespace
    pools = snapshot[INFERENCEPOOLS]
    found = pools.labelled(place, _INFERENCESET, inferenceset.name)
    named = pools.get(place, pool_name(inferenceset))
    found = found or ((named,) if named else ())
    return tuple(each for each in found if not each.deleting)


@_asked_once
def routes_of(inferenceset: InferenceSet, snapshot: Snapshot) -> tuple[HttpRoute, ...]:
    """Return the HTTPRoutes of an InferenceSet.

    Found by its label, else by name, else by leading to one of its pools: a route that a user
    wrote has a name of its own.
    """
    place = inferenceset.namespace
    routes = snapshot[HTTPROUTES]
    found = routes.labelled(place, _INFERENCESET, inferenceset.name)
    named = routes.get(place, route_name(inferenceset))
    found = found or ((named,) if named else ())
    if not found and (pools := {each.name for each in pools_of(inferenceset, snapshot)}):
        found = tuple(
            each for each in routes.in_namespace(place) if not pools.isdisjoint(pool_names(each))
        )
    return tuple(each for each in found if not each.deleting)


def pool_names(route: HttpRoute) -> tuple[str, ...]:
    """Return the names of the InferencePools in its own namespace that a route leads to.

    A pool of the experimental group `inference.networking.x-k8s.io` is another kind, and not read.
    """
    backends = (each for rule in route.spec.rules or () for each in rule.backend_refs or ())
    return tuple(
        each.name
        for each in backends
        if each.kind == INFERENCEPOOLS.kind
        and (each.group or INFERENCEPOOLS.group) == INFERENCEPOOLS.group
        and (each.namespace or route.namespace) == route.namespace
    )


def pool_name(inferenceset: InferenceSet) -> str:
    """Return the name that the chart gives the InferencePool."""
    return f"{inferenceset.name}-inferencepool"


def route_name(inferenceset: InferenceSet) -> str:
    """Return the name that the chart gives the HTTPRoute."""
    return f"{inferenceset.name}-route"


def epp_name(inferenceset: InferenceSet) -> str:
    """Return the name of the endpoint picker's Deployment."""
    return f"{pool_name(inferenceset)}-epp"


def wants_traffic(inferenceset: InferenceSet, snapshot: Snapshot) -> bool:
    """Tell whether the InferenceSet is to be reached through a route and an endpoint picker.

    What a set did not ask for is not missed (design 4): it has an InferencePool or an HTTPRoute,
    or the chart made it.
    """
    epp = snapshot[DEPLOYMENTS].get(inferenceset.namespace, epp_name(inferenceset))
    objects: tuple[KubeObject | None, ...] = (
        inferenceset,
        epp,
        *live_workspaces(inferenceset, snapshot),
    )
    if any(each and each.metadata.label(_OWNED_BY) == _MODELDEPLOYMENT for each in objects):
        return True
    return bool(pools_of(inferenceset, snapshot) or routes_of(inferenceset, snapshot))


def is_false(condition: Condition | None) -> bool:
    """Tell whether a condition is there and False."""
    return condition is not None and condition.status == "False"


def is_true(condition: Condition | None) -> bool:
    """Tell whether a condition is there and True."""
    return condition is not None and condition.status == "True"


def latest(*times: datetime | None) -> datetime | None:
    """Return the latest of the times that are known."""
    return max((each for each in times if each is not None), default=None)


def moved(condition: Condition | None) -> datetime | None:
    """Return when a condition took its status."""
    return condition.last_transition_time if condition else None


def finding_about(
    inferenceset: InferenceSet, snapshot: Snapshot, **fault: Unpack[FaultFields]
) -> Finding:
    """Return a finding whose message names the InferenceSet first; `text` follows it."""
    title = f"InferenceSet {inferenceset.namespace}/{inferenceset.name}"
    involved = namespace_ref(snapshot, inferenceset.namespace)
    return About(subject_of(inferenceset), involved, title).finding(**fault)


def _is_going(workspace: Workspace) -> bool:
    return workspace.deleting or is_true(workspace.status.condition("WorkspaceDeleting"))
