"""The objects of a KAITO model, the texts of its conditions, and faults in its pods' metrics."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final, TypeAlias

from reporter.catalogue import resources as r
from reporter.catalogue.runtime import DOWNLOAD_SLOW, DOWNLOAD_STALLED
from reporter.diagnosis.reach import selects_ready
from reporter.model.finding import Finding
from reporter.model.objects import Condition, Deployment, HttpRoute, InferencePool, KubeObject, Pod
from reporter.model.resource import Resource
from reporter.model.stack import ObjectT
from reporter.model.subject import ObjectRef
from reporter.model.text import clean, cut, detail
from reporter.probes.pods import metric_faults, metric_finding
from reporter.probes.scope import SubjectScope
from reporter.snapshot.decode import Sought, belongs_to
from reporter.stacks.kaito.objects import InferenceSet, Workspace
from reporter.stacks.kaito.reasons import MADE_WITH, WORKSPACES
from reporter.workload.deployment import deployment_behind, is_available, judge_deployment
from reporter.workload.endpoint_pickers import missing_picker_service
from reporter.workload.owners import is_true
from reporter.workload.pod import counts, is_ready
from reporter.workload.replica_faults import MISSING, WorkloadFault
from reporter.workload.routing import routes_to

WORKSPACE: Final = "kaito.sh/workspace"
"""Label of model pods: the name of their Workspace."""

_OF_STATEFULSET: Final = "statefulset.kubernetes.io/pod-name"
"""Label that Kubernetes' StatefulSet controller gives each pod."""

_INFERENCESET: Final = "kaito.sh/inferenceset"


@dataclass(frozen=True, kw_only=True)
class WorkspaceScope(SubjectScope[Workspace]):
    """A Workspace that no InferenceSet made."""

    name_label = WORKSPACE

    @property
    def workspaces(self) -> tuple[Workspace, ...]:
        return (self.object,)

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        return self.snapshot[r.PODS].labelled(self.place, WORKSPACE, self.name)


@dataclass(frozen=True, slots=True)
class Picker:
    """An endpoint picker, by the name of its Service, with its fault or None.

    `picks`: requests get an answer from it, even if it is degraded.
    """

    name: str
    deployment: Deployment | None
    fault: WorkloadFault | None
    picks: bool


@dataclass(frozen=True, kw_only=True)
class InferenceSetScope(SubjectScope[InferenceSet]):
    name_label = MADE_WITH

    @cached_property
    def workspaces(self) -> tuple[Workspace, ...]:
        made = self.snapshot[WORKSPACES].labelled(self.place, MADE_WITH, self.name)
        return tuple(each for each in made if not is_going(each))

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """Its pods, without those of a Workspace that goes or is known to be gone."""
        pods = self.snapshot[r.PODS].labelled(self.place, MADE_WITH, self.name)
        if not self.known(WORKSPACES):
            return pods
        live = {each.name for each in self.workspaces}
        return tuple(each for each in pods if each.metadata.label(WORKSPACE) in live | {None})

    @cached_property
    def served(self) -> int:
        """How many replicas have all of their pods, and all of them Ready."""
        return sum(is_served(each, self.pods) for each in self.workspaces)

    @cached_property
    def pools(self) -> tuple[InferencePool, ...]:
        """Its InferencePools: by its label, else by its name; of the current group if any."""
        found = self._charted(r.INFERENCEPOOLS, self.pool_name) or self._former_pools
        return tuple(each for each in found if not each.deleting)

    @cached_property
    def _former_pools(self) -> tuple[InferencePool, ...]:
        return tuple(each.pool for each in self._charted(r.FORMER_POOLS, self.pool_name))

    def _charted(self, resource: Resource[ObjectT], name: str) -> tuple[ObjectT, ...]:
        """Return the objects that the chart made for it: by its label, else by name."""
        table = self.snapshot[resource]
        named = table.get(self.place, name)
        found = table.labelled(self.place, _INFERENCESET, self.name)
        return found or ((named,) if named else ())

    def ref_of_pool(self, pool: InferencePool) -> ObjectRef:
        is_former = pool in self._former_pools
        return (r.FORMER_POOLS if is_former else r.INFERENCEPOOLS).ref(pool)

    @cached_property
    def routes(self) -> tuple[HttpRoute, ...]:
        """Its HTTPRoutes: the chart's, else those of any name that lead to its pools."""
        found = self._charted(r.HTTPROUTES, self.route_name)
        if not found:
            leading = {
                route.name: route
                for pool in self.pools
                for group in (r.INFERENCEPOOLS.group, r.FORMER_POOLS.group)
                for route in routes_to(self.snapshot, self.place, pool.name, group=group)
            }
            found = tuple(leading[name] for name in sorted(leading))
        return tuple(each for each in found if not each.deleting)

    @property
    def charted(self) -> Sought:
        """How to look up objects that the chart made for it."""
        return belongs_to(self.name, _INFERENCESET)

    @property
    def pool_name(self) -> str:
        return f"{self.name}-inferencepool"

    @property
    def route_name(self) -> str:
        return f"{self.name}-route"

    @cached_property
    def pickers(self) -> tuple[Picker, ...]:
        return tuple(self._picker(name, made) for name, made in self._picker_deployments.items())

    @cached_property
    def _picker_deployments(self) -> Mapping[str, Deployment | None]:
        """The Deployments of the pickers that its pools name, else of the chart's picker.

        A pool refers to a Service (Gateway API Inference Extension, `endpointPickerRef`): a
        Deployment with the Service's name comes first, then the Deployment behind the Service.
        """
        named = (each.spec.endpoint_picker_ref for each in self.pools)
        names = {each.name for each in named if each and each.name} or {f"{self.pool_name}-epp"}
        own = self.snapshot[r.DEPLOYMENTS]
        return {
            each: own.get(self.place, each) or deployment_behind(self.snapshot, self.place, each)
            for each in sorted(names)
        }

    def _picker(self, name: str, deployment: Deployment | None) -> Picker:
        """Judge an endpoint picker, which need not be a Deployment.

        The Service of a user's own picker may have another name than its Deployment. If that
        Service is gone, the Deployment is unknown, so the pool is at fault.
        """
        snapshot, place = self.snapshot, self.place
        gone = any(missing_picker_service(each, snapshot) == name for each in self.pools)
        if deployment is not None:
            fault = judge_deployment(deployment, snapshot)
            return Picker(name, deployment, fault, picks=not gone and is_available(deployment))
        service = snapshot[r.SERVICES].get(place, name)
        served = service is not None and selects_ready(service, snapshot) is True
        by_chart = name == f"{self.pool_name}-epp"
        known = by_chart or (not gone and snapshot.absence_known(r.SERVICES, place, name))
        missing = not served and known and snapshot.absence_known(r.DEPLOYMENTS, place, name)
        return Picker(name, None, MISSING if missing else None, picks=not gone and served)

    @cached_property
    def wants_traffic(self) -> bool:
        """True if requests should come through a route and an endpoint picker.

        A set shows that by an InferencePool or an HTTPRoute, or because the chart made it.
        Otherwise neither counts as missing.
        """
        pickers = self._picker_deployments.values()
        objects: tuple[KubeObject | None, ...] = (self.object, *pickers, *self.workspaces)
        owners = (each.metadata.label("kaito.sh/owned-by") for each in objects if each)
        return "modeldeployment" in owners or bool(self.pools or self.routes)


AnyScope: TypeAlias = InferenceSetScope | WorkspaceScope


def pods_of(workspace: Workspace, pods: tuple[Pod, ...]) -> tuple[Pod, ...]:
    return tuple(each for each in pods if each.metadata.label(WORKSPACE) == workspace.name)


def is_served(workspace: Workspace, pods: tuple[Pod, ...]) -> bool:
    """Return True if the replica of a Workspace has all of its pods, and all of them Ready."""
    present = [each for each in pods_of(workspace, pods) if counts(each)]
    return len(present) >= wanted_pods(workspace, present) and all(map(is_ready, present))


def wanted_pods(workspace: Workspace, pods: Iterable[Pod]) -> int:
    """Return how many pods the replica of a Workspace has: one for each node.

    KAITO gives the StatefulSet of a preset as many replicas as nodes (KAITO,
    pkg/workspace/inference/preset_inferences.go, v0.12). Pods of a template have no StatefulSet.
    """
    of_set = any(each.metadata.label(_OF_STATEFULSET) for each in pods)
    return max(1, workspace.status.target_node_count or 1) if of_set else 1


def moved(condition: Condition | None) -> datetime | None:
    return condition.last_transition_time if condition else None


def is_going(workspace: Workspace) -> bool:
    return workspace.deleting or is_true(workspace.status.condition("WorkspaceDeleting"))


_RECONCILE_ERROR: Final = "(last reconcile error:"
_REFUSALS: Final = ("denied the request", "denied request", " is forbidden:", " is invalid:")
SCANNED: Final = 16_384
"""How many characters of a text are scanned; KAITO does not limit its texts."""

_BASE_BYTES: Final = 400
_ERROR_BYTES: Final = 200


def _parted(condition: Condition) -> tuple[str, str, str]:
    return (condition.message or "")[:SCANNED].partition(_RECONCILE_ERROR)


def _cleaned(error: str, limit: int) -> str:
    return cut(clean(error.rstrip(") ")), limit)


def without_reconcile_error(condition: Condition) -> str:
    """Return the condition's own text without the error that KAITO appends to any condition."""
    return _parted(condition)[0]


def condition_text(condition: Condition) -> str:
    """Return reason and text, clean and bounded; there is always room for a reconcile error."""
    message, found, error = _parted(condition)
    text = detail(condition.reason, message, _BASE_BYTES) or "no reason given"
    return f"{text} {_RECONCILE_ERROR} {_cleaned(error, _ERROR_BYTES)})" if found else text


def reconcile_error(condition: Condition | None) -> str:
    """Return the error that KAITO appended to a condition's text, clean and bounded.

    It is from the last reconcile, and disappears after a successful one (KAITO,
    pkg/workspace/controllers/workspace_controller.go, v0.12).
    """
    return _cleaned(_parted(condition)[2], _BASE_BYTES) if condition else ""


def is_refusal(error: str) -> bool:
    """Return True if the API server refused an object, by the wording of the error.

    "denied the request" comes from an admission webhook (k8s.io/apiserver,
    pkg/admission/plugin/webhook/errors/statuserror.go) or policy, "is forbidden:" from quotas and
    rights, "is invalid:" from the object's fields (k8s.io/apimachinery, pkg/api/errors/errors.go).
    """
    return any(words in error for words in _REFUSALS)


def believed(condition: Condition, workspace: Workspace) -> bool:
    """Return True if a condition may be reported at once.

    A condition that KAITO wrote for an earlier spec may be about a fault that was just corrected:
    it is reported only after its grace.
    """
    observed = condition.observed_generation
    return (
        not isinstance(observed, int) or not observed or observed >= workspace.metadata.generation
    )


_DOWNLOADS: Final = frozenset({DOWNLOAD_SLOW, DOWNLOAD_STALLED})

_STREAMING: Final = "ModelMirrorReady"
"""Condition of a Workspace whose pods stream their weights: the metrics page of such a pod looks
like a stalled download."""


def probe_runtime(scope: InferenceSetScope) -> Iterator[Finding]:
    """Yield the faults that the rules found in metrics, except downloads of streamed weights."""
    workspaces = (
        each for each in scope.workspaces if each.status.condition(_STREAMING) is not None
    )
    streaming = {each.name for each in workspaces}
    for pod, fault in metric_faults(scope, scope.pods, waits=waits_for_replicas(scope)):
        if fault.reason not in _DOWNLOADS or pod.metadata.label(WORKSPACE) not in streaming:
            yield metric_finding(scope, pod, fault)


def waits_for_replicas(scope: InferenceSetScope) -> bool:
    """Return True if fewer replicas are ready than wanted: a scale-out, or a rollout."""
    ready = scope.object.status.ready_replicas
    return ready is not None and ready < scope.object.wanted
