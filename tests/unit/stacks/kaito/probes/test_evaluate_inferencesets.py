"""An InferenceSet as a whole, and its route."""

from datetime import timedelta

import pytest

from reporter.catalogue.resources import (
    DEPLOYMENTS,
    FORMER_POOLS,
    GATEWAYS,
    HTTPROUTES,
    INFERENCEPOOLS,
    PODS,
    SERVICES,
)
from reporter.stacks.kaito.reasons import (
    INFERENCESETS,
    MODEL_EPP,
    MODEL_READY,
    MODEL_ROUTE,
    WORKSPACES,
)
from tests.tables import rows
from tests.unit.probes.asking import evaluate_inferencesets
from tests.unit.probes.building import (
    ALL_CRDS,
    CREATED_AT,
    DELETING,
    SINCE_AT,
    condition,
    document,
    merged,
    snapshot_of,
)
from tests.unit.stacks.kaito.probes.kaito import (
    NS,
    SET,
    SETTINGS,
    conditions,
    epp,
    findings,
    healthy,
    inferenceset,
    model_pod,
    not_ready,
    only,
    parent,
    pool,
    stack,
    without,
    workspace,
)

UNLABELLED = {"metadata": {"labels": {"kaito.sh/owned-by": None}}}


def evaluate(snapshot):
    return evaluate_inferencesets(snapshot, SETTINGS)


def ready(snapshot):
    return [each.message for each in evaluate(snapshot).ready]


def test_a_set_is_a_subject_with_its_creation_time():
    """It is known by kind, namespace and name."""
    (known,) = evaluate(stack()).subjects
    assert str(known.subject) == f"inferenceset/{NS}/{SET}"
    assert known.created == CREATED_AT


def test_nothing_is_concluded_where_sets_cannot_be_read():
    """Unknown is neither healthy nor a fault."""
    snapshot = stack()
    assert evaluate(without(snapshot, INFERENCESETS)).subjects == ()


def test_a_set_that_serves_is_ready():
    """Every wanted replica is ready, the picker available and the route accepted."""
    (evidence,) = evaluate(stack()).ready
    assert evidence.reason == MODEL_READY
    assert evidence.related == INFERENCESETS.ref_named(NS, SET)
    assert (evidence.involved.kind, evidence.involved.uid) == ("Namespace", f"uid-{NS}")
    assert evidence.message == (
        f"InferenceSet {NS}/{SET} is ready: 1/1 replicas ready, endpoint picker available, "
        "route accepted"
    )


def test_a_set_without_route_and_picker_is_ready_by_its_replicas():
    """What it did not ask for is not missed."""
    snapshot = stack(workspace=UNLABELLED, route=None, pool=None, epp=None)
    assert ready(snapshot) == [f"InferenceSet {NS}/{SET} is ready: 1/1 replicas ready"]


NAMED = {"spec": {"endpointPickerRef": {"name": "qwen-inferencepool-epp"}}}
SPREADS = {"spec": {"endpointPickerRef": {"name": "qwen-epp", "failureMode": "FailOpen"}}}
OWN = document("Service", "qwen-inferencepool-epp", NS)
SERVES = conditions(condition("InferenceReady", "True", "WorkspaceInferenceStatusSuccess"))
STARTING = [workspace("qwen-b"), model_pod("qwen-b-0", not_ready(), workspace="qwen-b")]


def of_parent(*conditions):
    return {"status": {"parents": [parent("models-gw", *conditions)]}}


@rows(
    ("snapshot", "is_ready"),
    {
        "a replica less than wanted": (stack(set={"spec": {"replicas": 2}}), False),
        "a pod that is not Ready": (stack(pod=not_ready()), False),
        "no pod": (stack(pod=None), False),
        "a pod that goes": (stack(pod=DELETING), False),
        "a pod that failed": (stack(pod={"status": {"phase": "Failed"}}), False),
        "a Workspace that goes": (stack(workspace=DELETING), False),
        "no Workspace": (stack(workspace=None), False),
        "no picker": (stack(epp=None), False),
        "a picker that is down": (stack(epp=epp(ready=0)), False),
        "a picker of zero": (stack(epp=epp(ready=0, wanted=0)), False),
        "a picker that lacks a replica": (stack(epp=epp(ready=1, wanted=2)), False),
        "no route": (stack(route=None), False),
        "a route that nobody accepted": (stack(route={"status": {"parents": []}}), False),
        "a route that is accepted and not resolved": (stack(route=of_parent(condition("Accepted", "True"))), False),
        "a route that is not judged yet": (stack(route=of_parent(condition("Accepted", "Unknown"))), False),
        "a route without a parent": (stack(route={"spec": {"parentRefs": []}}), False),
        **{f"{each} cannot be read": (without(stack(), each), False) for each in (WORKSPACES, PODS, DEPLOYMENTS, INFERENCEPOOLS, HTTPROUTES)},
        "a replica on several nodes works only as a whole": (stack(model_pod("qwen-a-1", not_ready())), False),
        "it works as a whole": (stack(model_pod("qwen-a-1")), True),
        "while it is scaled down the wanted number is enough": (stack(*STARTING), True),
        "a condition freezes when KAITO is down, at True as well: pods decide": (stack(workspace=SERVES, pod=not_ready()), False),
    },
)  # fmt: skip
def test_ready_needs_positive_evidence(snapshot, is_ready):
    """The absence of a fault is not enough, nor is what could not be read."""
    assert bool(ready(snapshot)) is is_ready


@rows(
    ("snapshot", "reached", "is_ready"),
    {
        "the Service that the pool names is not there": (stack(pool=NAMED), False, False),
        "it is there": (stack(OWN, pool=NAMED), True, True),
        "a pool that fails open serves without; ready is another matter": (
            stack(pool=SPREADS),
            True,
            False,
        ),
        "Services cannot be read: it may be there": (
            without(stack(pool=NAMED), SERVICES),
            True,
            True,
        ),
    },
)
def test_requests_reach_a_picker_through_its_service(snapshot, reached, is_ready):
    """Its Deployment is available, and the gateway calls the Service."""
    (evidence,) = evaluate(snapshot).serving
    assert (evidence.reached, bool(ready(snapshot))) == (reached, is_ready)


ACCEPTED = condition("Accepted", "True")
RESOLVED = condition("ResolvedRefs", "True")
PICKER = "qwen-inferencepool-epp"
ROUTE, POOL = "HTTPRoute qwen-route", "InferencePool qwen-inferencepool"
NO_MATCH = condition("Accepted", "False", "NoMatchingParent")


def parents(*entries):
    return {"status": {"parents": list(entries)}}


def refused(type_, reason):
    return parents(parent("models-gw", condition(type_, "False", reason, "because")))


def refers(*references):
    return {"spec": {"parentRefs": list(references)}}


def selects(**labels):
    return {"spec": {"selector": {"matchLabels": labels} if labels else None}}


def named(name=PICKER, **more):
    """A patch of a pool that names a Service for its endpoint picker."""
    return {"spec": {"endpointPickerRef": {"name": name, "failureMode": "FailClose"} | more}}


def service(name=PICKER, *patches):
    return document("Service", name, NS, *patches)


def leading_to(**reference):
    """A patch of a route that leads to one pool."""
    backend = {"kind": "InferencePool", "group": INFERENCEPOOLS.group, "name": "p"} | reference
    return {"spec": {"rules": [{"backendRefs": [backend]}]}}


@pytest.mark.parametrize(
    ("type_", "reason"),
    [
        ("Accepted", "NoMatchingParent"),
        ("Accepted", "NotAllowedByListeners"),
        ("Accepted", "NoMatchingListenerHostname"),
        ("Accepted", "ParentRefConflict"),
        ("ResolvedRefs", "BackendNotFound"),
        ("ResolvedRefs", "InvalidKind"),
        ("ResolvedRefs", "RefNotPermitted"),
    ],
)
@pytest.mark.parametrize(("handle", "name"), [("route", ROUTE), ("pool", POOL)])
def test_a_parent_that_refuses_is_told(handle, name, type_, reason):
    """The time is that of the condition whose status is the fault; pools keep theirs there too."""
    finding = only(stack(**{handle: refused(type_, reason)}), MODEL_ROUTE)
    assert finding.message.startswith(f"InferenceSet {NS}/{SET}: {name}")
    assert f"{type_} is False for Gateway models/models-gw, {reason}: because" in finding.message
    assert finding.cause == f"{type_} is False ({reason})"
    assert (finding.transition, finding.exempt, finding.budget) == (SINCE_AT, False, None)
    assert not finding.independent


NO_ENTRY = "status.parents has no entry"
SEVERAL = parents(
    parent(), parent("models-gw", condition("Accepted", "False", "NotAllowedByListeners"))
)
TOLD = [
    # what changes, the end of the message, the object at fault
    pytest.param({"route": parents()}, NO_ENTRY, ROUTE, id="empty parents, as Istio leaves them"),
    pytest.param({"route": {"status": None}}, NO_ENTRY, ROUTE, id="no status"),
    pytest.param({"route": parents(parent("another-gw"))}, NO_ENTRY, ROUTE, id="another's entry"),
    pytest.param({"gateway": None, "route": parents()}, "Gateway models/models-gw does not exist", ROUTE, id="a Gateway that is gone"),
    pytest.param(
        {"route": refers({"name": "shared", "namespace": "edge"})},
        "Gateway edge/shared does not exist", ROUTE, id="a Gateway of another namespace",
    ),
    pytest.param({"route": SEVERAL}, "NotAllowedByListeners", ROUTE, id="one of several listeners refuses"),
    pytest.param(
        {
            "route": refers({"name": "models-gw"}, {"name": "gone-gw"})
            | refused("ResolvedRefs", "BackendNotFound")
        },
        "Gateway models/gone-gw does not exist (and 1 more)", ROUTE, id="several faults are one",
    ),
    pytest.param({"route": {"spec": {"parentRefs": None}}}, "names no parent Gateway", ROUTE, id="no parent"),
    pytest.param({"pool": selects(typo="yes")}, f"{POOL} selects no pod", POOL, id="no pod is selected"),
    pytest.param({"route": None}, f": {ROUTE} is missing", ROUTE, id="the chart asked for a route"),
    pytest.param({"pool": None}, f"{POOL} is missing", POOL, id="the route leads to a pool"),
    pytest.param(
        {"route": {"metadata": {"name": "mine", "labels": None}} | parents(parent("models-gw", NO_MATCH))},
        "NoMatchingParent", "HTTPRoute mine", id="a route of another name is found by its pool",
    ),
    pytest.param(
        {"route": DELETING | parents(parent("models-gw", NO_MATCH))}, f": {ROUTE} is missing", ROUTE,
        id="a route on its way out counts as not there",
    ),
    pytest.param({"pool": named()}, f"{POOL}: its endpoint picker's Service {PICKER} does not exist", POOL, id="the picker has no Service"),
    pytest.param({"pool": named("picker")}, "Service picker does not exist", POOL, id="of a picker of another name nothing else is missed"),
    pytest.param(
        {"set": conditions(condition("InferenceSetReady", "False", "inferencesetFailed", "helm"))},
        "helm", f"InferenceSet {SET}", id="what KAITO could not make",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "end", "related"), TOLD)
def test_told(changes, end, related):
    (finding,) = findings(stack(**changes))
    assert finding.reason == MODEL_ROUTE
    assert finding.message.startswith(f"InferenceSet {NS}/{SET}: ")
    assert end in finding.message
    assert f"{finding.related.kind} {finding.related.name}" == related
    assert finding.budget is None


SILENT = {
    "a Gateway that cannot be read is not gone": (lambda: without(stack(gateway=None), GATEWAYS)),
    "a Gateway that is being deleted is not gone": (lambda: stack(gateway=DELETING, route=parents(), pool=parents())),
    "an Unknown condition": lambda: stack(route=parents(parent("models-gw", condition("Accepted", "Unknown", "Pending"), RESOLVED))),
    "a condition without a status": lambda: stack(route=parents(parent("models-gw", {"type": "Accepted"}))),
    "another controller's entry": lambda: stack(
        route=parents(parent(), parent("models-gw", condition("Accepted", "False"), controller="other"))
    ),
    "another controller's entry comes first": lambda: stack(
        route=parents(parent("models-gw", condition("Accepted", "False"), controller="a"), parent())
    ),
    "a former parent's entry": lambda: stack(route=parents(parent(), parent("old-gw", NO_MATCH))),
    "conditions of the pool itself": lambda: stack(pool=conditions(NO_MATCH)),
    "an entry of a pool for a Gateway that is gone": lambda: stack(
        pool=parents(parent(), parent("old-gw", condition("Accepted", "False", "HTTPRouteNotAccepted")))
    ),
    "the default entry of a pool": lambda: stack(
        pool=parents(
            parent("default", condition("Accepted", "Unknown", "Pending"))
            | {"parentRef": {"kind": "Status", "name": "default"}}
        )
    ),
    "a set that did not ask for a route": lambda: stack(
        workspace={"metadata": {"labels": {"kaito.sh/owned-by": None}}}, route=None, pool=None, epp=None
    ),
    "a route that cannot be read": lambda: without(stack(route=None), HTTPROUTES),
    "a route of another name": lambda: stack(route={"metadata": {"name": "mine", "labels": None}}),
    "a pool of others, with a grant": lambda: stack(route=leading_to(namespace="pools"), pool=None),
    "a pool that is being deleted": lambda: stack(pool=DELETING | parents(parent("models-gw", NO_MATCH))),
    "the picker's Service is there": lambda: stack(service(), pool=named()),
    "a Service that cannot be read": lambda: without(stack(pool=named()), SERVICES),
    "a reference of another kind": lambda: stack(pool=named(kind="Picker")),
    "a reference of another group": lambda: stack(pool=named(group="example.com")),
    "a Service of another group": lambda: stack(pool=named(group="example.com", kind="Service")),
    "a reference without a name": lambda: stack(pool=named(name="")),
    "no selector": lambda: stack(pool=selects()),
}  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    assert findings(SILENT[name]()) == []


@pytest.mark.parametrize(
    "snapshot",
    [
        lambda: stack(pod=DELETING),
        lambda: stack(pod=None, workspace=None, set={"spec": {"replicas": 0}}),
        lambda: without(stack(pod=None), PODS),
    ],
    ids=["a pod that goes shows that the selector is right", "0 are wanted", "pods cannot be read"],
)
def test_a_pool_that_selects_no_pod_for_a_reason(snapshot):
    assert findings(snapshot(), MODEL_ROUTE) == []


def test_a_mesh_parent_is_no_gateway():
    """A Service as parent has no Gateway to look for; its entry decides."""
    reference = {"kind": "Service", "group": "", "name": "front"}
    patch = refers(reference) | parents(parent() | {"parentRef": reference})
    assert findings(stack(route=patch)) == []


def test_a_pool_of_a_set_without_pods_has_the_start_up_budget():
    """While nodes boot there is nothing to select: no warning at every cold start."""
    assert only(stack(pod=None), MODEL_ROUTE).budget == timedelta(minutes=30)


FORMER_ROUTE = leading_to(group=FORMER_POOLS.group, name="qwen-inferencepool")


def test_a_kind_of_pools_that_is_not_served_has_none_missing():
    objects = healthy() | {
        "route": merged(healthy()["route"], leading_to(group=FORMER_POOLS.group))
    }
    del objects["pool"]
    served = ALL_CRDS - {FORMER_POOLS.crd_name}
    assert findings(snapshot_of(*objects.values(), served=served), MODEL_ROUTE) == []


def with_former_pool(*patches):
    """The set's InferencePool as it was before v1.0 of the Gateway API Inference Extension."""
    spec = {"selector": {"kaito.sh/workspace": "qwen-a"}, "extensionRef": {"name": "picker"}}
    kind = {"apiVersion": f"{FORMER_POOLS.group}/v1alpha2", "spec": spec}
    former = document("InferencePool", "qwen-inferencepool", NS, kind, *patches)
    return stack(document("Service", "picker", NS), former, route=FORMER_ROUTE, pool=None)


@pytest.mark.parametrize(
    ("patch", "cause"),
    [
        (
            {"status": {"parent": [parent("models-gw", condition("Accepted", "False", "NotSupportedByParent"))]}},
            "Accepted is False (NotSupportedByParent)",
        ),
        ({"spec": {"selector": {"kaito.sh/workspace": "x"}}}, "InferencePool selects no pod"),
        ({"spec": {"extensionRef": {"name": PICKER}}}, f"Service {PICKER} missing"),
    ],
)  # fmt: skip
def test_a_pool_of_the_former_group_is_judged_like_others(patch, cause):
    """Its parents, its selector, and the Service and the endpoint picker that it refers to."""
    assert findings(with_former_pool(), MODEL_ROUTE) == []
    assert only(with_former_pool(), MODEL_EPP).related.name == "picker"
    finding = only(with_former_pool(patch), MODEL_ROUTE)
    assert finding.related == FORMER_POOLS.ref_named(NS, "qwen-inferencepool")
    assert finding.cause == cause


def test_a_missing_pool_of_the_former_group_is_told():
    """Where its kind is served."""
    finding = only(stack(route=FORMER_ROUTE, pool=None), MODEL_ROUTE)
    assert finding.related == FORMER_POOLS.ref_named(NS, "qwen-inferencepool")
    assert finding.cause == "InferencePool missing"


def test_what_parents_say_of_the_missing_service_is_the_same_fault():
    """It is told in the same words before and after the parent's status, which has the time."""
    entry = parent(
        "models-gw",
        ACCEPTED,
        condition("ResolvedRefs", "False", "InvalidExtensionRef", "not found"),
    )
    before = only(stack(pool=named()), MODEL_ROUTE)
    told = only(stack(pool=named() | parents(entry)), MODEL_ROUTE)
    assert told.message == before.message
    assert (before.cause, before.by_spec, before.transition) == (
        f"Service {PICKER} missing",
        True,
        None,
    )
    assert told.transition == SINCE_AT


def test_what_else_parents_say_is_counted():
    """Another parent that does not support pools is another fault, and a worse one."""
    finding = only(stack(pool=named() | refused("Accepted", "NotSupportedByParent")), MODEL_ROUTE)
    assert finding.cause == "Accepted is False (NotSupportedByParent)"
    assert finding.message.endswith("(and 1 more)")


def test_a_service_of_another_namespace_is_another_one():
    """The reference has no namespace."""
    elsewhere = service(PICKER, {"metadata": {"namespace": "other"}})
    assert only(stack(elsewhere, pool=named(group="", kind="Service")), MODEL_ROUTE)


def test_a_picker_of_which_nothing_is_there_is_told_once():
    """Neither its Deployment nor its Service exists: one fault, told of the picker."""
    gone = stack(pool=named(), epp=None)
    assert [each.reason for each in findings(gone)] == [MODEL_EPP]
    assert [each.reason for each in findings(without(gone, DEPLOYMENTS))] == [MODEL_ROUTE]


def test_routes_of_other_sets_do_not_matter():
    """A neighbour's broken route is the neighbour's."""
    other = inferenceset(name="other", replicas=0)
    own = pool({"metadata": {"name": "other-inferencepool", "labels": None}}, parents())
    told = findings(snapshot_of(*healthy().values(), other, own))
    assert {each.subject.name for each in told} == {"other"}
    assert MODEL_ROUTE in {each.reason for each in told}
