"""Dumps of clusters with several stacks: what is read of each, and what is said of those not there."""

import pytest

from reporter.catalogue import resources as r
from reporter.evaluation import evaluate
from reporter.model.report import NOT_IN_DUMP
from reporter.resolution.unknown import unknown_resources
from reporter.snapshot.snapshot import Served
from reporter.stacks.kserve.reasons import KNATIVE_SERVICES
from reporter.stacks.otterscale.reasons import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    MODELSERVICES,
    PLUGINS_CONFIGMAPS,
)
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import CLUSTER_WIDE, Stack, subjects_of

SHARED = {(each.group, each.plural) for each in CLUSTER_WIDE if not each.label_selector}
SELECTED = [
    each for each in CLUSTER_WIDE if each.label_selector and (each.group, each.plural) not in SHARED
]
"""What is read of a kind with a label only."""

BESIDE_KAITO = [
    stack for stack in Stack if stack not in {Stack.KAITO, Stack.WORKLOADS, Stack.DIALECTS}
]
"""Any Deployment may be a plain workload, so that what is read of them is looked for in each dump; a cluster
has few of the kinds of dialects."""
PARTS = {"ControllerRevision": {"revision": 1}}


def obj(resource, name, namespace="n", **metadata):
    metadata = {"name": name, "namespace": namespace, **metadata}
    parts = PARTS.get(resource.kind, {})
    return {
        "apiVersion": resource.api_version(), "kind": resource.kind, "metadata": metadata, **parts,
    }  # fmt: skip


def matching(resource):
    key, _, value = resource.label_selector.partition("=")
    return {key: value or "x"}


def names(snapshot, resource):
    return [each.name for each in snapshot[resource]]


def read_of(load, resource):
    """What is read of objects with and without the labels of a resource, and what is skipped."""
    others = {"labels": {key: f"not-{value}" for key, value in matching(resource).items()}}
    if "=" not in resource.label_selector:
        others = {"labels": {"another/key": "x"}}
    snapshot = load(
        obj(resource, "ours", labels=matching(resource)),
        obj(resource, "others", **others),
        obj(resource, "bare"),
        obj(resource, "odd", labels=None),
        obj(resource, "list", labels=["a"]),
    ).snapshot
    return names(snapshot, resource), snapshot.state(resource).served, snapshot.skipped


def test_only_what_a_live_reporter_selects_is_read(load):
    """Others' objects of the same kind are a look, but not read; nor is what is odd about them."""
    found = {each.selection: read_of(load, each) for each in SELECTED}
    assert found == dict.fromkeys(found, (["ours"], Served.SERVED, ()))


def test_configmaps_are_of_two_kinds(load):
    """Istio's by name, those of endpoint pickers by label; one may be both, most are neither."""
    label = matching(PLUGINS_CONFIGMAPS)
    snapshot = load(
        obj(r.CONFIGMAPS, "istio", "istio-system"),
        obj(r.CONFIGMAPS, "m-epp-config", labels=label),
        obj(r.CONFIGMAPS, "istio-canary", labels=label),
        obj(r.CONFIGMAPS, "settings"),
    ).snapshot
    assert sorted(names(snapshot, r.CONFIGMAPS)) == ["istio", "istio-canary"]
    assert sorted(names(snapshot, PLUGINS_CONFIGMAPS)) == ["istio-canary", "m-epp-config"]


def test_services_of_knative_are_no_services_of_the_core(load):
    label = matching(KNATIVE_SERVICES)
    snapshot = load(
        obj(r.SERVICES, "core"), obj(KNATIVE_SERVICES, "knative", labels=label)
    ).snapshot
    assert names(snapshot, r.SERVICES) == ["core"]
    assert names(snapshot, KNATIVE_SERVICES) == ["knative"]


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("stack", BESIDE_KAITO)
def test_a_dump_without_a_stack_says_nothing_of_it(load, stack, complete):
    snapshot = load(obj(r.PODS, "p"), complete=complete).snapshot
    own = {each for each in CLUSTER_WIDE if each.stack == stack}
    assert not own & snapshot.states.keys()
    names = {str(each) for each in own} - {str(each) for each in snapshot.states}
    assert not names & {each.resource for each in unknown_resources(snapshot)}
    said = evaluate(snapshot, FullEvaluationSettings()).findings
    assert not any(each in finding.message for finding in said for each in names)


@pytest.mark.parametrize("stack", BESIDE_KAITO)
@pytest.mark.parametrize("form", ["object", "empty list"])
def test_a_dump_with_a_stack_says_what_it_lacks_of_it(load, stack, form):
    """What the stack's verdicts rest on and nobody put in is unknown, as it is for KAITO."""
    kind = subjects_of(stack)[0]
    document = obj(kind, "m")
    if form == "empty list":
        document = {"apiVersion": kind.api_version(), "kind": f"{kind.kind}List", "items": []}
    snapshot = load(document).snapshot
    assert snapshot.state(kind).served is Served.SERVED
    for each in CLUSTER_WIDE:
        if each.stack == stack and not each.subject_kind and not each.opt_in:
            state = snapshot.state(each)
            assert (state.served, state.cause) == (Served.UNKNOWN, NOT_IN_DUMP)
    for other in set(BESIDE_KAITO) - {stack}:
        assert not set(subjects_of(other)) & snapshot.states.keys()


@pytest.mark.parametrize("stack", BESIDE_KAITO)
def test_a_complete_dump_with_a_stack_lacks_nothing(load, stack):
    kind, *former = subjects_of(stack)
    snapshot = load(obj(kind, "m"), complete=True).snapshot
    own = {each for each in CLUSTER_WIDE if each.stack == stack and not each.opt_in} - {*former}
    assert {snapshot.state(each).served for each in own} == {Served.SERVED}


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("there", [False, True])
def test_what_has_to_be_asked_for_is_missed_only_among_its_like(load, complete, there):
    """Few add ClusterRoles to a dump; that none is there says nothing, and is no gap either."""
    kinds = [CLUSTERROLES] if there else []
    documents = [obj(each, "one", labels=matching(each)) for each in kinds]
    snapshot = load(obj(MODELSERVICES, "m"), *documents, complete=complete).snapshot
    assert (CLUSTERROLES in snapshot.states, snapshot.absence_known(CLUSTERROLES, "", "other")) == (
        there,
        there,
    )
    assert CLUSTERROLEBINDINGS not in snapshot.states


@pytest.mark.parametrize("kind", subjects_of(Stack.KTHENA), ids=str)
def test_subjects_of_either_group_are_read(load, kind):
    """The kind has moved. What is in the dump counts, and the other group is not missed."""
    snapshot = load(obj(kind, "m")).snapshot
    assert names(snapshot, kind) == ["m"]
    (other,) = {*subjects_of(Stack.KTHENA)} - {kind}
    assert snapshot.state(other).served is Served.ABSENT
