"""What is seen of a ModelService, and how its findings are put into words."""

from dataclasses import dataclass
from functools import cached_property

from reporter.catalogue.resources import DEPLOYMENTS, HTTPROUTES, INFERENCEPOOLS, PODS, SERVICES
from reporter.model.objects import Condition, Deployment, HttpRoute, InferencePool, Pod, Service
from reporter.probes.scope import SubjectScope
from reporter.snapshot.decode import Sought, belongs_to
from reporter.snapshot.snapshot import Snapshot
from reporter.stacks.otterscale.manifests import names
from reporter.stacks.otterscale.manifests import names as labels
from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.objects import FAIL_OPEN, ModelService
from reporter.stacks.otterscale.operator_flags import Given
from reporter.stacks.otterscale.probes.fleet import RECONCILE_ERROR, operator_of, told_by_operator
from reporter.stacks.otterscale.settings import OtterscaleSettings
from reporter.workload.pod import counts, is_ready


@dataclass(frozen=True, slots=True)
class RoleView:
    """One role, decode or prefill.

    Attributes:
        wanted: pods that the ModelService asks for.
        deployment: None if it is not there.

    """

    role: str
    wanted: int
    name: str
    deployment: Deployment | None
    pods: tuple[Pod, ...]

    @property
    def standing(self) -> tuple[Pod, ...]:
        return tuple(each for each in self.pods if counts(each))

    @property
    def ready(self) -> int:
        return sum(map(is_ready, self.standing))

    @property
    def count(self) -> str:
        """How many pods are Ready of those that are wanted, for messages."""
        return f"{self.ready}/{self.wanted} {self.role} pods ready"


@dataclass(frozen=True, kw_only=True)
class ModelServiceScope(SubjectScope[ModelService]):
    """One ModelService, with its objects; None for those that are not there."""

    @property
    def service(self) -> ModelService:
        return self.object

    @property
    def own(self) -> Sought:
        """What seeks objects that belong to it."""
        return belongs_to(self.service.name, labels.MODEL)

    @cached_property
    def given(self) -> Given:
        """The settings of the operator that are given, and those that its own arguments tell.

        They count, whatever its objects tell; what a user gives counts first.
        """
        settings = OtterscaleSettings.of(self.settings)
        return {**told_by_operator(self.snapshot, settings), **settings.operator_given}

    @cached_property
    def operator(self) -> OperatorSettings:
        """The operator's settings: those that are given, else as far as its objects tell."""
        return operator_of(self.snapshot, self.given)

    @cached_property
    def roles(self) -> tuple[RoleView, ...]:
        return _roles(self.service, self.snapshot)

    @property
    def epp(self) -> Deployment | None:
        return self.snapshot[DEPLOYMENTS].get(self.place, self.epp_name)

    @property
    def epp_service(self) -> Service | None:
        return self.snapshot[SERVICES].get(self.place, self.epp_name)

    @property
    def pool(self) -> InferencePool | None:
        return self.snapshot[INFERENCEPOOLS].get(self.place, names.inference_pool(self.name))

    @property
    def route(self) -> HttpRoute | None:
        return self.snapshot[HTTPROUTES].get(self.place, names.http_route(self.name))

    @property
    def epp_name(self) -> str:
        """The name that most objects of the endpoint picker share."""
        return names.epp(self.name)

    @property
    def pods(self) -> tuple[Pod, ...]:
        return tuple(pod for role in self.roles for pod in role.pods)

    @property
    def fails_open(self) -> bool:
        """Whether requests get through without an endpoint picker.

        The gateway goes by the pool as it is, which may not be as the ModelService says.
        """
        reference = self.pool.spec.endpoint_picker_ref if self.pool else None
        mode = (reference and reference.failure_mode) or self.service.picker.failure_mode
        return mode == FAIL_OPEN

    @property
    def without_picker(self) -> str:
        """What becomes of requests while there is no endpoint picker."""
        if self.fails_open:
            return "failureMode is FailOpen: the gateway spreads requests without it"
        return "failureMode is FailClose: requests fail"

    @property
    def is_behind(self) -> bool:
        """Whether the status is of an older generation, or there is none yet."""
        return self.service.status.observed_generation < self.service.metadata.generation

    @property
    def reconcile_error(self) -> Condition | None:
        ready = self.service.status.condition("Ready")
        if ready is None or ready.status != "False" or ready.reason != RECONCILE_ERROR:
            return None
        return ready


def role_pods(service: ModelService, snapshot: Snapshot, role: str) -> tuple[Pod, ...]:
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
