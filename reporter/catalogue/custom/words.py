"""What the catalogue says of a declaration where its author says nothing."""

from reporter.model.custom import CustomComponent, CustomCondition, CustomWorkload, WorkloadKind

_DOWN = {
    WorkloadKind.DEPLOYMENT: "is down (missing, scaled to zero, no available replica) or degraded "
    "(fewer ready replicas than wanted and no rollout in progress, or a rollout past its deadline)",
    WorkloadKind.STATEFULSET: "is down (missing, scaled to zero, no available replica) or degraded "
    "(fewer ready replicas than wanted, or a rollout that is stuck)",
    WorkloadKind.DAEMONSET: "is down (missing, no available pod) or degraded (fewer ready pods "
    "than nodes that should run one, or a rollout that is stuck)",
}

_ROLLOUT = {
    WorkloadKind.DEPLOYMENT: "A rollout within its progress deadline, terminating pods.",
    WorkloadKind.STATEFULSET: "A rollout whose last step, or a pod whose first start or deletion, is "
    "younger than 10 minutes while a replica is available.",
    WorkloadKind.DAEMONSET: "A rollout whose last step, or a pod whose first start or deletion, is "
    "younger than 10 minutes while one is available elsewhere; a first start on a node that is new.",
}


def summary(component: CustomComponent) -> str:
    """Return what a reason means."""
    if component.workload:
        return f"{component.workload.kind} {component.workload.name} is not available."
    if component.crd:
        return f"CustomResourceDefinition {component.crd.name} is not served."
    condition = _condition(component)
    return f"Condition {condition.type} of a {condition.kind} is not {condition.status}."


def trigger(component: CustomComponent) -> str:
    """Return what raises it."""
    if component.workload:
        workload = component.workload
        return f"{workload.kind} {workload.name} {_place(workload)} {_DOWN[workload.kind]}."
    if component.crd:
        return f"API discovery answered and does not list {component.crd.name}."
    condition = _condition(component)
    wrong = "False" if condition.status == "True" else "True"
    return f"{_objects(condition)} has condition {condition.type} with status {wrong}."


def silent(component: CustomComponent) -> str:
    """Return what looks similar and does not raise it."""
    if component.workload:
        return _ROLLOUT[component.workload.kind]
    if component.crd:
        return "Discovery that failed."
    return (
        "An object without that condition, with status Unknown, or that is being deleted; a status "
        "that was written for an earlier spec."
    )


def action(component: CustomComponent) -> str:
    """Return what an operator does about it."""
    if component.workload:
        workload = component.workload
        only = len(workload.namespaces) == 1
        namespace = workload.namespaces[0] if only else "<namespace>"
        return (
            f"kubectl -n {namespace} describe {workload.kind.lower()} {workload.name}, and look at "
            "its pods and logs."
        )
    if component.crd:
        return (
            "Install or repair what owns the CRD, then check that it is Established: "
            f"kubectl get crd {component.crd.name}"
        )
    condition = _condition(component)
    kind = condition.kind.lower()
    resource = f"{kind}.{condition.group}" if condition.group else kind
    place = "-n <namespace> " if condition.namespaced else ""
    return f"kubectl {place}describe {resource} <{kind}>; its conditions name the cause."


def _place(workload: CustomWorkload) -> str:
    if not workload.namespaces:
        return "of a workload namespace"
    return f"in {' or '.join(workload.namespaces)}"


def _objects(condition: CustomCondition) -> str:
    selected = f" that {condition.selector!r} selects" if condition.selector else ""
    return f"A {condition.kind}{selected}"


def _condition(component: CustomComponent) -> CustomCondition:
    if component.condition is None:
        raise ValueError(f"{component.reason} declares nothing that raises it")
    return component.condition
