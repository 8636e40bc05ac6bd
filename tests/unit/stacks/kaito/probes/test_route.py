"""inferencesetRouteNotReady: the route and the pool of an InferenceSet that asked for them."""

from dataclasses import replace
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
from reporter.stacks.kaito.reasons import MODEL_EPP, MODEL_ROUTE
from tests.unit.probes.building import (
    ALL_CRDS,
    DELETING,
    FORBIDDEN,
    SINCE_AT,
    condition,
    document,
    merged,
    snapshot_of,
)
from tests.unit.stacks.kaito.probes.kaito import (
    NS,
    SET,
    conditions,
    findings,
    healthy,
    inferenceset,
    only,
    parent,
    pool,
    stack,
)

ACCEPTED = condition("Accepted", "True")
RESOLVED = condition("ResolvedRefs", "True")


def parents(*entries):
    return {"status": {"parents": list(entries)}}


def without(snapshot, *resources):
    states = dict(snapshot.states) | dict.fromkeys(resources, FORBIDDEN)
    return replace(snapshot, states=states)


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
@pytest.mark.parametrize(
    ("handle", "name"), [("route", "HTTPRoute qwen-route"), ("pool", "InferencePool qwen-infer")]
)
def test_a_parent_that_refuses_is_told(handle, name, type_, reason):
    """The time is that of the condition whose status is the fault; pools keep theirs there too."""
    entry = parent("models-gw", condition(type_, "False", reason, "because"))
    finding = only(stack(**{handle: parents(entry)}), MODEL_ROUTE)
    assert finding.message.startswith(f"InferenceSet {NS}/{SET}: {name}")
    assert f"{type_} is False for Gateway models/models-gw, {reason}: because" in finding.message
    assert finding.cause == f"{type_} is False ({reason})"
    assert (finding.transition, finding.exempt, finding.budget) == (SINCE_AT, False, None)
    assert not finding.independent


@pytest.mark.parametrize("patch", [parents(), {"status": None}, parents(parent("another-gw"))])
def test_a_route_without_a_status_of_its_parent_is_a_fault(patch):
    """Istio takes its entry away with the Gateway; empty parents are not fine."""
    finding = only(stack(route=patch), MODEL_ROUTE)
    assert "status.parents has no entry" in finding.message
    assert finding.transition is None


def test_a_gateway_that_is_gone_is_told():
    """The route's Gateway does not exist; then no harness reason speaks (10.16)."""
    finding = only(stack(gateway=None, route=parents()), MODEL_ROUTE)
    assert "Gateway models/models-gw does not exist" in finding.message


def test_a_gateway_that_cannot_be_read_is_not_gone():
    """Absence needs a look."""
    assert findings(without(stack(gateway=None), GATEWAYS)) == []


def test_a_gateway_that_is_being_deleted_is_not_gone():
    """Uninstalling raises nothing."""
    assert findings(stack(gateway=DELETING, route=parents(), pool=parents())) == []


def test_another_gateway_may_live_in_another_namespace():
    """The namespace of a parent reference is respected, and its objects looked for there."""
    spec = {"spec": {"parentRefs": [{"name": "shared", "namespace": "edge"}]}}
    assert "Gateway edge/shared does not exist" in only(stack(route=spec), MODEL_ROUTE).message


def test_a_mesh_parent_is_no_gateway():
    """A Service as parent has no Gateway to look for; its entry decides."""
    reference = {"kind": "Service", "group": "", "name": "front"}
    entry = parent() | {"parentRef": reference}
    patch = {"spec": {"parentRefs": [reference]}} | parents(entry)
    assert findings(stack(route=patch)) == []


@pytest.mark.parametrize(
    "entries",
    [
        [parent("models-gw", condition("Accepted", "Unknown", "Pending"), RESOLVED)],
        [parent("models-gw", {"type": "Accepted"})],
        [parent(), parent("models-gw", condition("Accepted", "False"), controller="other")],
        [parent("models-gw", condition("Accepted", "False"), controller="a"), parent()],
        [parent(), parent("old-gw", condition("Accepted", "False", "NoMatchingParent"))],
    ],
    ids=["unknown", "no status", "other controller", "other controller first", "old parent"],
)
def test_what_is_no_refusal_is_silent(entries):
    """Unknown conditions, entries of other controllers and of former parents raise nothing."""
    assert findings(stack(route=parents(*entries))) == []


def test_one_of_several_listeners_that_refuses_is_told():
    """Two entries of one controller are two sections of one Gateway; both have to hold."""
    refusing = parent("models-gw", condition("Accepted", "False", "NotAllowedByListeners"))
    finding = only(stack(route=parents(parent(), refusing)), MODEL_ROUTE)
    assert "NotAllowedByListeners" in finding.message


def test_several_faults_of_one_route_are_one_finding():
    """The worst is named and the others are counted; their order does not matter."""
    spec = {"spec": {"parentRefs": [{"name": "models-gw"}, {"name": "gone-gw"}]}}
    refusing = parents(parent("models-gw", condition("ResolvedRefs", "False", "BackendNotFound")))
    finding = only(stack(route=spec | refusing), MODEL_ROUTE)
    assert finding.message.endswith("Gateway models/gone-gw does not exist (and 1 more)")


def test_a_route_without_any_parent_reference_leads_nowhere():
    """No Gateway was named at all."""
    finding = only(stack(route={"spec": {"parentRefs": None}}), MODEL_ROUTE)
    assert "names no parent Gateway" in finding.message


@pytest.mark.parametrize(
    ("type_", "reason"),
    [("Accepted", "HTTPRouteNotAccepted"), ("ResolvedRefs", "InvalidExtensionRef")],
)
def test_conditions_of_a_pool_are_those_of_its_parents(type_, reason):
    """They sit under status.parents, and nothing is read from status.conditions."""
    refused = condition(type_, "False", reason)
    assert reason in only(stack(pool=parents(parent("models-gw", refused))), MODEL_ROUTE).message
    assert findings(stack(pool=conditions(refused))) == []


def test_entries_of_a_pool_for_a_gateway_that_is_gone_are_left_over():
    """The Gateway itself is told by the route, if it still refers to it."""
    entry = parent("old-gw", condition("Accepted", "False", "HTTPRouteNotAccepted"))
    assert findings(stack(pool=parents(parent(), entry))) == []


def test_the_default_entry_of_a_pool_says_nothing():
    """A pool that no controller has seen has an Unknown entry of kind Status."""
    entry = parent("default", condition("Accepted", "Unknown", "Pending"))
    entry["parentRef"] = {"kind": "Status", "name": "default"}
    assert findings(stack(pool=parents(entry))) == []


def test_a_pool_that_selects_no_pod_is_told():
    """No status shows it, so the pods are counted."""
    patch = {"spec": {"selector": {"matchLabels": {"typo": "yes"}}}}
    finding = only(stack(pool=patch), MODEL_ROUTE)
    assert finding.message.endswith("InferencePool qwen-inferencepool selects no pod")
    assert (finding.budget, finding.related.kind) == (None, "InferencePool")


def test_a_pool_of_a_set_without_pods_has_the_start_up_budget():
    """While nodes boot there is nothing to select: no warning at every cold start."""
    assert only(stack(pod=None), MODEL_ROUTE).budget == timedelta(minutes=30)


@pytest.mark.parametrize(
    "changes",
    [
        {"pod": DELETING},
        {"pod": None, "workspace": None, "set": {"spec": {"replicas": 0}}},
        {"pool": {"spec": {"selector": None}}},
    ],
    ids=["pod being replaced", "scaled to zero", "no selector"],
)
def test_a_pool_that_selects_no_pod_for_a_reason_is_silent(changes):
    """A pod that terminates shows that the selector is right; 0 wanted pods are none."""
    assert findings(stack(**changes), MODEL_ROUTE) == []


def test_pods_that_cannot_be_read_are_not_missed():
    """Absence needs a look."""
    assert findings(without(stack(pod=None), PODS), MODEL_ROUTE) == []


def test_a_missing_route_of_a_set_made_by_the_chart_is_told():
    """Its objects say that it is to be reached through a route."""
    finding = only(stack(route=None), MODEL_ROUTE)
    assert finding.message == f"InferenceSet {NS}/{SET}: HTTPRoute qwen-route is missing"
    assert finding.related == HTTPROUTES.ref_named(NS, "qwen-route")
    assert finding.created is None


def test_a_route_that_cannot_be_read_is_not_missing():
    """Absence needs a look."""
    assert findings(without(stack(route=None), HTTPROUTES), MODEL_ROUTE) == []


def test_a_missing_pool_is_told_where_a_route_leads_to_it():
    """The route names the pool that has to exist."""
    finding = only(stack(pool=None), MODEL_ROUTE)
    assert finding.related == INFERENCEPOOLS.ref_named(NS, "qwen-inferencepool")


def leading_to(**reference):
    """A patch of a route that leads to one pool."""
    backend = {"kind": "InferencePool", "group": INFERENCEPOOLS.group, "name": "p"} | reference
    return {"spec": {"rules": [{"backendRefs": [backend]}]}}


def test_a_pool_that_is_not_read_is_not_missing():
    """A route may lead with a grant to pools of others, and to a kind that is not served."""
    route = leading_to(namespace="pools")
    assert findings(stack(route=route, pool=None), MODEL_ROUTE) == []
    former = leading_to(group=FORMER_POOLS.group)
    served = ALL_CRDS - {FORMER_POOLS.crd_name}
    objects = healthy() | {"route": merged(healthy()["route"], former)}
    del objects["pool"]
    assert findings(snapshot_of(*objects.values(), served=served), MODEL_ROUTE) == []


FORMER_ROUTE = leading_to(group=FORMER_POOLS.group, name="qwen-inferencepool")


def former_pool(*patches):
    """The set's InferencePool as it was before v1.0 of the Gateway API Inference Extension."""
    spec = {"selector": {"kaito.sh/workspace": "qwen-a"}, "extensionRef": {"name": "picker"}}
    kind = {"apiVersion": f"{FORMER_POOLS.group}/v1alpha2", "spec": spec}
    return document("InferencePool", "qwen-inferencepool", NS, kind, *patches)


def with_former_pool(*patches):
    picker = document("Service", "picker", NS)
    return stack(picker, former_pool(*patches), route=FORMER_ROUTE, pool=None)


def test_a_pool_of_the_former_group_is_judged_like_others():
    """Its parents, its selector, and the endpoint picker that it refers to."""
    assert findings(with_former_pool(), MODEL_ROUTE) == []
    assert only(with_former_pool(), MODEL_EPP).related.name == "picker"
    gateway = parent("models-gw", condition("Accepted", "False", "NotSupportedByParent"))
    refused = {"status": {"parent": [gateway]}}
    finding = only(with_former_pool(refused), MODEL_ROUTE)
    assert finding.related == FORMER_POOLS.ref_named(NS, "qwen-inferencepool")
    assert "NotSupportedByParent" in finding.message
    nobody = {"spec": {"selector": {"kaito.sh/workspace": "x"}}}
    assert only(with_former_pool(nobody), MODEL_ROUTE).cause == "InferencePool selects no pod"


def test_a_missing_pool_of_the_former_group_is_told():
    """Where its kind is served."""
    finding = only(stack(route=FORMER_ROUTE, pool=None), MODEL_ROUTE)
    assert finding.related == FORMER_POOLS.ref_named(NS, "qwen-inferencepool")
    assert finding.cause == "InferencePool missing"


def test_a_set_that_did_not_ask_for_a_route_misses_none():
    """Plain KAITO and children of a MultiRoleInference have neither route nor picker."""
    plain = {"metadata": {"labels": {"kaito.sh/owned-by": None}}}
    snapshot = stack(workspace=plain, route=None, pool=None, epp=None)
    assert findings(snapshot) == []


def test_a_route_under_another_name_is_found_by_its_pool():
    """A user's own route counts if it leads to the pool."""
    renamed = {"metadata": {"name": "mine", "labels": None}}
    assert findings(stack(route=renamed)) == []
    refused = parents(parent("models-gw", condition("Accepted", "False", "NoMatchingParent")))
    assert only(stack(route=renamed | refused), MODEL_ROUTE).related.name == "mine"


PICKER = "qwen-inferencepool-epp"


def named(name=PICKER, **more):
    """A patch of a pool that names a Service for its endpoint picker."""
    return {"spec": {"endpointPickerRef": {"name": name, "failureMode": "FailClose"} | more}}


def service(name=PICKER, *patches):
    return document("Service", name, NS, *patches)


def test_a_pool_whose_picker_has_no_service_is_told():
    """The Deployment works and requests do not get to it; no status need tell so."""
    finding = only(stack(pool=named()), MODEL_ROUTE)
    assert finding.related == INFERENCEPOOLS.ref_named(NS, "qwen-inferencepool")
    assert finding.message.endswith(
        f"InferencePool qwen-inferencepool: its endpoint picker's Service {PICKER} does not exist"
    )
    assert (finding.cause, finding.by_spec) == (f"Service {PICKER} missing", True)
    assert finding.transition is None
    assert findings(stack(service(), pool=named())) == []


def test_what_parents_say_of_the_missing_service_is_the_same_fault():
    """It is told in the same words before and after the parent's status, which has the time."""
    refused = condition("ResolvedRefs", "False", "InvalidExtensionRef", "not found")
    told = only(stack(pool=named() | parents(parent("models-gw", ACCEPTED, refused))), MODEL_ROUTE)
    assert told.message == only(stack(pool=named()), MODEL_ROUTE).message
    assert told.transition == SINCE_AT


def test_what_else_parents_say_is_counted():
    """Another parent that does not support pools is another fault, and a worse one."""
    refused = parents(parent("models-gw", condition("Accepted", "False", "NotSupportedByParent")))
    finding = only(stack(pool=named() | refused), MODEL_ROUTE)
    assert finding.cause == "Accepted is False (NotSupportedByParent)"
    assert finding.message.endswith("(and 1 more)")


def test_a_service_that_cannot_be_read_is_not_missing():
    """Absence needs a look."""
    assert findings(without(stack(pool=named()), SERVICES)) == []


@pytest.mark.parametrize(
    "reference",
    [
        named(kind="Picker"),
        named(group="example.com"),
        named(group="example.com", kind="Service"),
        named(name=""),
    ],
    ids=["kind", "group", "kind of a group", "no name"],
)
def test_what_is_no_service_is_not_looked_for(reference):
    """A reference of another kind leads to what is not read."""
    assert findings(stack(pool=reference)) == []


def test_a_service_of_another_namespace_is_another_one():
    """The reference has no namespace."""
    elsewhere = service(PICKER, {"metadata": {"namespace": "other"}})
    assert only(stack(elsewhere, pool=named(group="", kind="Service")), MODEL_ROUTE)


def test_a_picker_of_which_nothing_is_there_is_told_once():
    """Neither its Deployment nor its Service exists: one fault, told of the picker."""
    assert [each.reason for each in findings(stack(pool=named(), epp=None))] == [MODEL_EPP]
    unread = without(stack(pool=named(), epp=None), DEPLOYMENTS)
    assert [each.reason for each in findings(unread)] == [MODEL_ROUTE]


def test_a_picker_of_another_name_is_not_missed_without_its_service():
    """Nobody can tell which Deployment was behind it."""
    told = findings(stack(pool=named("picker")))
    assert [(each.reason, each.cause) for each in told] == [(MODEL_ROUTE, "Service picker missing")]


def test_a_pool_of_the_former_group_names_a_service_too():
    """In its extensionRef."""
    own = {"spec": {"extensionRef": {"name": PICKER}}}
    finding = only(with_former_pool(own), MODEL_ROUTE)
    assert finding.related == FORMER_POOLS.ref_named(NS, "qwen-inferencepool")
    assert finding.cause == f"Service {PICKER} missing"


def test_deleting_routes_and_pools_are_not_judged():
    """A route on its way out counts as not there."""
    refused = parents(parent("models-gw", condition("Accepted", "False", "NoMatchingParent")))
    finding = only(stack(route=DELETING | refused), MODEL_ROUTE)
    assert finding.cause == "HTTPRoute missing"
    assert findings(stack(pool=DELETING | refused), MODEL_ROUTE) == []


def test_objects_that_kaito_could_not_make_are_told():
    """inferencesetFailed of the InferenceSet's own condition."""
    failed = conditions(condition("InferenceSetReady", "False", "inferencesetFailed", "helm"))
    finding = only(stack(set=failed), MODEL_ROUTE)
    assert (finding.related.kind, finding.transition) == ("InferenceSet", None)


def test_routes_of_other_sets_do_not_matter():
    """A neighbour's broken route is the neighbour's."""
    other = inferenceset(name="other", replicas=0)
    own = pool({"metadata": {"name": "other-inferencepool", "labels": None}}, parents())
    objects = [*healthy().values(), other, own]
    told = {(each.subject.name, each.reason) for each in findings(snapshot_of(*objects))}
    assert {name for name, _ in told} == {"other"}
    assert ("other", MODEL_ROUTE) in told
