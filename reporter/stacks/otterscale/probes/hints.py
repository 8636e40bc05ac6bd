"""What a fault of a serving pod means, where the kubelet alone does not say it."""

from typing import Final

from reporter.model.objects import Pod
from reporter.model.text import clean, cut
from reporter.stacks.otterscale.manifests import gpu
from reporter.stacks.otterscale.manifests.init_containers import MODEL_UNPACK, ROUTING_PROXY
from reporter.stacks.otterscale.probes.scope import ModelServiceScope, RoleView
from reporter.workload.pod import ENDED, NOT_SET_UP, STARTING, UNSCHEDULABLE, PodFault

_IMAGE_BYTES: Final = 200


def named_cause(scope: ModelServiceScope, role: RoleView, pod: Pod, *, fault: PodFault) -> str:
    """Return the cause in a few words, with the container or accelerator that it is about."""
    if fault.severity == UNSCHEDULABLE and (resource := _accelerator(scope, pod)):
        return f"{role.role}: no free {resource}"
    if fault.init_container:
        return f"{role.role}: {fault.init_container}: {fault.cause}"
    return f"{role.role}: {fault.cause}"


def hint(scope: ModelServiceScope, pod: Pod, fault: PodFault) -> str:
    """Return what to add to the detail of a fault, empty where that says it all."""
    if fault.init_container == ROUTING_PROXY:
        return "; without it nothing listens on the port that requests are sent to"
    if fault.init_container == MODEL_UNPACK and _has_run(fault):
        return _unpack(scope)
    if fault.severity in {STARTING, NOT_SET_UP}:
        return _starting(scope, pod)
    return ""


def _has_run(fault: PodFault) -> bool:
    """Tell whether a container ran and failed; else its own image or the node is at fault."""
    return fault.severity == ENDED or fault.cause == "CrashLoopBackOff"


def _unpack(scope: ModelServiceScope) -> str:
    model = scope.service.spec.model
    package = cut(clean(model.image), _IMAGE_BYTES)
    return f"; it fetches and unpacks the model package {package} {_credentials(scope)}"


def _credentials(scope: ModelServiceScope) -> str:
    secrets = scope.service.spec.model.image_pull_secrets
    if not secrets:
        return "without credentials (spec.model.imagePullSecrets is not set)"
    also = ", the only one of imagePullSecrets that it uses" if len(secrets) > 1 else ""
    return f"with the credentials of Secret {secrets[0].name}{also}"


def _starting(scope: ModelServiceScope, pod: Pod) -> str:
    """Return what a pod that starts waits for."""
    for status in pod.status.init_container_statuses or ():
        if status.name != MODEL_UNPACK or status.state is None:
            continue
        if status.state.running is not None:
            return ""  # the fault names it
        if status.state.waiting is not None:
            return _not_made(scope)
    return ""


def _not_made(scope: ModelServiceScope) -> str:
    secrets = scope.service.spec.model.image_pull_secrets
    if not secrets:
        return "; its containers are not created yet"
    return (
        "; its containers are not created yet, as happens while a volume is missing: look for "
        f"Secret {secrets[0].name} and its key .dockerconfigjson"
    )


def _accelerator(scope: ModelServiceScope, pod: Pod) -> str:
    """Return the accelerator that the scheduler says is lacking, empty if it does not.

    Taints of nodes with accelerators have the same name, and are another cause.
    """
    resource = gpu.resource_name(scope.service.spec.accelerator.type)
    scheduled = pod.status.condition("PodScheduled")
    said = (scheduled.message if scheduled else None) or ""
    return resource if resource and f"Insufficient {resource}" in said else ""
