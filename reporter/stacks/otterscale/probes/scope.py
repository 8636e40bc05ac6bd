"""What is seen of a ModelService, and how its findings are put into words."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Unpack

from reporter.catalogue.resources import (
    DEPLOYMENTS,
    HTTPROUTES,
    INFERENCEPOOLS,
    MODELSERVICES,
    PODS,
    SERVICES,
)
from reporter.model.finding import Finding
from reporter.model.objects import Condition, Deployment, HttpRoute, InferencePool, Pod, Service
from reporter.model.subject import ObjectRef, Subject, SubjectKind
from reporter.probes.about import About, FaultFields
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.otterscale.manifests import labels, names
from reporter.stacks.otterscale.manifests.operator import OperatorSettings
from reporter.stacks.otterscale.objects import FAIL_OPEN, ModelService
from reporter.stacks.otterscale.operator_flags import NOTHING, Given
from reporter.stacks.otterscale.probes.fleet import operator_of
from reporter.workload.namespaces import namespace_ref
from reporter.workload.pod import counts, is_ready

RECONCILE_ERROR: Final = "ReconcileError"


@dataclass(frozen=True, slots=True)
class RoleView:
    """One role, decode or prefill.

    Attributes:
        role: its name.
        wanted: pods that the ModelService asks for.
        name: of its Deployment.
        deployment: None if it is not there.
        pods: all of its pods, by name.

    """

    role: str
    wanted: int
    name: str
    deployment: Deployment | None
    pods: tuple[Pod, ...]

    @property
    def standing(self) -> tuple[Pod, ...]:
        """The pods that stand for a replica."""
        return tuple(each for each in self.pods if counts(each))

    @property
    def ready(self) -> int:
        """How many of them are Ready."""
        return sum(map(is_ready, self.standing))

    @property
    def count(self) -> str:
        """How many pods are Ready of those that are wanted, for messages."""
        return f"{self.ready}/{self.wanted} {self.role} pods ready"


@dataclass(frozen=True, slots=True)
class View:
    """One ModelService with its objects; None for those that are not there.

    Attributes:
        operator: the operator's settings: those that are given, else as far as its objects tell.
        roles: decode, and prefill if the ModelService has it.
        given: which of the operator's settings are given.

    """

    service: ModelService
    snapshot: Snapshot
    operator: OperatorSettings
    roles: tuple[RoleView, ...]
    epp: Deployment | None
    epp_service: Service | None
    pool: InferencePool | None
    route: HttpRoute | None
    given: AbstractSet[str]

    @property
    def namespace(self) -> str:
        """Where the ModelService is."""
        return self.service.namespace

    @property
    def epp_name(self) -> str:
        """The name that most objects of the endpoint picker share."""
        return names.epp(self.service.name)

    @property
    def subject(self) -> Subject:
        """What its findings are about."""
        return Subject(SubjectKind.MODELSERVICE, self.namespace, self.service.name)

    @property
    def ref(self) -> ObjectRef:
        """The reference to the ModelService."""
        return MODELSERVICES.ref(self.service)

    @property
    def involved(self) -> ObjectRef:
        """What Events refer to."""
        return namespace_ref(self.snapshot, self.namespace)

    @property
    def title(self) -> str:
        """How messages name it."""
        return f"ModelService {self.namespace}/{self.service.name}"

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The serving pods of all roles."""
        return tuple(pod for role in self.roles for pod in role.pods)

    @property
    def without_picker(self) -> str:
        """What becomes of requests while there is no endpoint picker (sheet 5.3).

        The gateway goes by the pool as it is, which may not be as the ModelService says.
        """
        reference = self.pool.spec.endpoint_picker_ref if self.pool else None
        mode = (reference and reference.failure_mode) or self.service.picker.failure_mode
        if mode == FAIL_OPEN:
            return "failureMode is FailOpen: the gateway spreads requests without it"
        return "failureMode is FailClose: requests fail"

    @property
    def is_behind(self) -> bool:
        """Whether the status is of an older generation, or there is none yet."""
        return self.service.status.observed_generation < self.service.metadata.generation

    @property
    def reconcile_error(self) -> Condition | None:
        """The Ready condition, if it tells of an error of the operator."""
        ready = self.service.status.condition("Ready")
        if ready is None or ready.status != "False" or ready.reason != RECONCILE_ERROR:
            return None
        return ready


def view_of(service: ModelService, snapshot: Snapshot, given: Given = NOTHING) -> View:
    """Return what is seen of a ModelService.

    Args:
        service: which.
        snapshot: where it is.
        given: settings of the operator that count, whatever its objects tell.

    """
    place, name = service.namespace, service.name
    return View(
        service=service,
        snapshot=snapshot,
        operator=operator_of(snapshot, given),
        roles=_roles(service, snapshot),
        epp=snapshot[DEPLOYMENTS].get(place, names.epp(name)),
        epp_service=snapshot[SERVICES].get(place, names.epp(name)),
        pool=snapshot[INFERENCEPOOLS].get(place, names.inference_pool(name)),
        route=snapshot[HTTPROUTES].get(place, names.http_route(name)),
        given=given.keys(),
    )


def role_pods(service: ModelService, snapshot: Snapshot, role: str) -> tuple[Pod, ...]:
    """Return the pods of a role, by name."""
    found = snapshot[PODS].labelled(service.namespace, labels.MODEL, service.name)
    return tuple(
        each
        for each in found
        if each.metadata.label(labels.SERVING) == "true"
        and each.metadata.label(labels.ROLE) == role
    )


def _roles(service: ModelService, snapshot: Snapshot) -> tuple[RoleView, ...]:
    prefill = service.spec.prefill
    asked = [(names.DECODE, names.decode_deployment(service.name), service.spec.decode.replicas)]
    if prefill is not None:
        asked.append((names.PREFILL, names.prefill_deployment(service.name), prefill.replicas))
    deployments = snapshot[DEPLOYMENTS]
    return tuple(
        RoleView(
            role=role,
            wanted=wanted,
            name=name,
            deployment=deployments.get(service.namespace, name),
            pods=role_pods(service, snapshot, role),
        )
        for role, name, wanted in asked
    )


def finding_about(view: View, **fault: Unpack[FaultFields]) -> Finding:
    """Return a finding whose message names the ModelService first; `text` follows it."""
    return About(view.subject, view.involved, view.title).finding(**fault)
