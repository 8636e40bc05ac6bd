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
    tells,
    without,
    workspace,
)

UNLABELLED = {"metadata": {"labels": {"kaito.sh/owned-by": None}}}


def evaluate(snapshot):
    return evaluate_inferencesets(snapshot, SETTINGS)


def ready(snapshot):
    return [each.message for each in evaluate(snapshot).ready]


def test_a_set_that_serves_is_ready():
    """Every wanted replica is ready, the picker available and the route accepted."""
    found = evaluate(stack())
    (known,), (evidence,) = found.subjects, found.ready
    assert (str(known.subject), known.created) == (f"inferenceset/{NS}/{SET}", CREATED_AT)
    assert (evidence.reason, evidence.related) == (MODEL_READY, INFERENCESETS.ref_named(NS, SET))
    assert (evidence.involved.kind, evidence.involved.uid) == ("Namespace", f"uid-{NS}")
    served = "1/1 replicas ready"
    assert evidence.message == (
        f"InferenceSet {NS}/{SET} is ready: {served}, endpoint picker available, route accepted"
    )
    alone = stack(workspace=UNLABELLED, route=None, pool=None, epp=None)
    assert ready(alone) == [f"InferenceSet {NS}/{SET} is ready: {served}"]
    assert evaluate(without(stack(), INFERENCESETS)).subjects == ()


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


FORMER_ROUTE = leading_to(group=FORMER_POOLS.group, name="qwen-inferencepool")


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
NO_MATCHING = parents(parent("models-gw", NO_MATCH))
TO_TWO = refers({"name": "models-gw"}, {"name": "gone-gw"}) | refused("ResolvedRefs", "BackendNotFound")  # fmt: skip
EXTENSION = condition("ResolvedRefs", "False", "InvalidExtensionRef", "not found")
NO_SERVICE = f"{POOL}: its endpoint picker's Service {PICKER} does not exist"
ELSEWHERE = service(PICKER, {"metadata": {"namespace": "other"}})
UNSUPPORTED = refused("Accepted", "NotSupportedByParent")
HELM_FAILED = conditions(condition("InferenceSetReady", "False", "inferencesetFailed", "helm"))
OF_POOL, OF_ROUTE = {"about": POOL}, {"about": ROUTE}


@rows(
    ("snapshot", "expected"),
    {
        "empty parents, as Istio leaves them": (stack(route=parents()), OF_ROUTE | {"ends": f"...{NO_ENTRY}..."}),
        "no status": (stack(route={"status": None}), OF_ROUTE | {"ends": f"...{NO_ENTRY}..."}),
        "another's entry": (stack(route=parents(parent("another-gw"))), OF_ROUTE | {"ends": f"...{NO_ENTRY}..."}),
        "a Gateway that is gone": (stack(gateway=None, route=parents()), OF_ROUTE | {"ends": "...Gateway models/models-gw does not exist..."}),
        "a Gateway of another namespace": (
            stack(route=refers({"name": "shared", "namespace": "edge"})), OF_ROUTE | {"ends": "...Gateway edge/shared does not exist..."},
        ),
        "one of several listeners refuses": (stack(route=SEVERAL), OF_ROUTE | {"ends": "...NotAllowedByListeners..."}),
        "several faults are one": (stack(route=TO_TWO), OF_ROUTE | {"ends": "Gateway models/gone-gw does not exist (and 1 more)"}),
        "no parent": (stack(route={"spec": {"parentRefs": None}}), OF_ROUTE | {"ends": "...names no parent Gateway..."}),
        "no pod is selected": (stack(pool=selects(typo="yes")), OF_POOL | {"ends": f"...{POOL} selects no pod..."}),
        "the chart asked for a route": (stack(route=None), OF_ROUTE | {"ends": f"...: {ROUTE} is missing..."}),
        "the route leads to a pool": (stack(pool=None), OF_POOL | {"ends": f"...{POOL} is missing..."}),
        "a route of another name is found by its pool": (
            stack(route={"metadata": {"name": "mine", "labels": None}} | NO_MATCHING), {"about": "HTTPRoute mine", "ends": "...NoMatchingParent..."},
        ),
        "a route on its way out counts as not there": (stack(route=DELETING | NO_MATCHING), OF_ROUTE | {"ends": f"...: {ROUTE} is missing..."}),
        "the picker has no Service": (
            stack(pool=named()), OF_POOL | {"ends": NO_SERVICE, "cause": f"Service {PICKER} missing", "by_spec": True, "transition": None},
        ),
        "the same words once a parent says so, which has the time": (
            stack(pool=named() | parents(parent("models-gw", ACCEPTED, EXTENSION))), OF_POOL | {"ends": NO_SERVICE, "transition": SINCE_AT},
        ),
        "what else parents say is another fault, and a worse one": (
            stack(pool=named() | UNSUPPORTED), OF_POOL | {"cause": "Accepted is False (NotSupportedByParent)", "ends": "(and 1 more)"},
        ),
        "a Service of another namespace is another one: the reference has none": (
            stack(ELSEWHERE, pool=named(group="", kind="Service")), OF_POOL | {"ends": NO_SERVICE},
        ),
        "of a picker of another name nothing else is missed": (stack(pool=named("picker")), OF_POOL | {"ends": "...Service picker does not exist..."}),
        "what KAITO could not make": (stack(set=HELM_FAILED), {"about": f"InferenceSet {SET}", "ends": "...helm..."}),
        "a missing pool of the former group, where its kind is served": (
            stack(route=FORMER_ROUTE, pool=None), {"related": FORMER_POOLS.ref_named(NS, "qwen-inferencepool"), "cause": "InferencePool missing"},
        ),
    },
)  # fmt: skip
def test_told(snapshot, expected):
    assert [each.reason for each in findings(snapshot)] == [MODEL_ROUTE]
    tells(snapshot, MODEL_ROUTE, budget=None, **expected)


MESH = {"kind": "Service", "group": "", "name": "front"}
UNSERVED = healthy() | {"route": merged(healthy()["route"], leading_to(group=FORMER_POOLS.group))}
del UNSERVED["pool"]


@rows(
    "snapshot",
    {
        "a Gateway that cannot be read is not gone": without(stack(gateway=None), GATEWAYS),
        "a Gateway that is being deleted is not gone": stack(gateway=DELETING, route=parents(), pool=parents()),
        "an Unknown condition": stack(route=parents(parent("models-gw", condition("Accepted", "Unknown", "Pending"), RESOLVED))),
        "a condition without a status": stack(route=parents(parent("models-gw", {"type": "Accepted"}))),
        "another controller's entry": stack(route=parents(parent(), parent("models-gw", condition("Accepted", "False"), controller="other"))),
        "another controller's entry comes first": stack(route=parents(parent("models-gw", condition("Accepted", "False"), controller="a"), parent())),
        "a former parent's entry": stack(route=parents(parent(), parent("old-gw", NO_MATCH))),
        "conditions of the pool itself": stack(pool=conditions(NO_MATCH)),
        "an entry of a pool for a Gateway that is gone": stack(
            pool=parents(parent(), parent("old-gw", condition("Accepted", "False", "HTTPRouteNotAccepted")))
        ),
        "the default entry of a pool": stack(
            pool=parents(
                parent("default", condition("Accepted", "Unknown", "Pending"))
                | {"parentRef": {"kind": "Status", "name": "default"}}
            )
        ),
        "a set that did not ask for a route": stack(workspace={"metadata": {"labels": {"kaito.sh/owned-by": None}}}, route=None, pool=None, epp=None),
        "a route that cannot be read": without(stack(route=None), HTTPROUTES),
        "a route of another name": stack(route={"metadata": {"name": "mine", "labels": None}}),
        "a pool of others, with a grant": stack(route=leading_to(namespace="pools"), pool=None),
        "a pool that is being deleted": stack(pool=DELETING | parents(parent("models-gw", NO_MATCH))),
        "the picker's Service is there": stack(service(), pool=named()),
        "a Service that cannot be read": without(stack(pool=named()), SERVICES),
        "a reference of another kind": stack(pool=named(kind="Picker")),
        "a reference of another group": stack(pool=named(group="example.com")),
        "a Service of another group": stack(pool=named(group="example.com", kind="Service")),
        "a reference without a name": stack(pool=named(name="")),
        "no selector": stack(pool=selects()),
        "a Service as parent has no Gateway to look for": stack(route=refers(MESH) | parents(parent() | {"parentRef": MESH})),
        "a kind of pools that is not served has none missing": snapshot_of(*UNSERVED.values(), served=ALL_CRDS - {FORMER_POOLS.crd_name}),
    },
)  # fmt: skip
def test_silent(snapshot):
    assert findings(snapshot) == []


@rows(
    "snapshot",
    {
        "a pod that goes shows that the selector is right": stack(pod=DELETING),
        "0 are wanted": stack(pod=None, workspace=None, set={"spec": {"replicas": 0}}),
        "pods cannot be read": without(stack(pod=None), PODS),
    },
)
def test_a_pool_that_selects_no_pod_for_a_reason(snapshot):
    assert findings(snapshot, MODEL_ROUTE) == []


def test_a_pool_of_a_set_without_pods_has_the_start_up_budget():
    """While nodes boot there is nothing to select: no warning at every cold start."""
    assert only(stack(pod=None), MODEL_ROUTE).budget == timedelta(minutes=30)


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
