"""Manifests on a snapshot: what server-side apply would make of its objects."""

from datetime import UTC, datetime
from textwrap import dedent

import msgspec
import pytest
import yaml

from reporter.catalogue.resources import BY_PLACE, DEPLOYMENTS, GATEWAYS, HTTPROUTES, NAMESPACES
from reporter.snapshot.applying import apply_manifests
from reporter.snapshot.decode import decode_object
from reporter.snapshot.dump import load_dump
from reporter.snapshot.snapshot import ResourceState, Served, Snapshot
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESETS
from tests.unit.conftest import EXAMPLES

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
RESOURCES = (*BUILT_IN.resources, *BY_PLACE)


@pytest.fixture(name="snapshot", scope="module")
def _snapshot():
    return load_dump([EXAMPLES / "healthy-stack"], BUILT_IN).snapshot


def applied(snapshot, text, namespace=""):
    documents = [*yaml.safe_load_all(dedent(text))]
    return apply_manifests(snapshot, documents, RESOURCES, now=NOW, namespace=namespace)


@pytest.mark.parametrize(
    "example",
    ["healthy-stack", "broken-stack", "inferenceservice", "llminferenceservice", "modelservice"],
)
def test_what_is_read_of_an_object_is_merged_without_a_loss(example):
    """A struct becomes JSON and the same struct again, whatever its type."""
    snapshot = load_dump([EXAMPLES / example], BUILT_IN).snapshot
    for resource, table in snapshot.tables.items():
        for each in table:
            assert decode_object(resource, msgspec.json.encode(msgspec.to_builtins(each))) == each


def test_what_a_manifest_leaves_out_stays(snapshot):
    """One field is set; labels, containers and the status are those from before."""
    done = applied(
        snapshot,
        """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: kaito-workspace, namespace: kaito-system, labels: {team: a}}
        spec: {replicas: 3}
        status: {readyReplicas: 17}
        """,
    )
    before = snapshot[DEPLOYMENTS].get("kaito-system", "kaito-workspace")
    after = done.snapshot[DEPLOYMENTS].get("kaito-system", "kaito-workspace")
    assert after.spec.replicas == 3
    assert after.spec.template == before.spec.template
    assert after.status == before.status
    assert after.metadata.labels == {**before.metadata.labels, "team": "a"}
    assert after.metadata.generation == before.metadata.generation + 1
    assert snapshot[DEPLOYMENTS].get("kaito-system", "kaito-workspace") is before
    assert done.unsettled == {DEPLOYMENTS.ref(before)}


def test_containers_are_told_apart_by_name(snapshot):
    """Another image for one of them leaves the others alone; one more is added."""
    done = applied(
        snapshot,
        """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: kaito-workspace, namespace: kaito-system}
        spec:
          template:
            spec:
              containers:
              - {name: workspace, image: "kaito:new"}
              - {name: sidecar, image: "sidecar:1"}
        """,
    )
    after = done.snapshot[DEPLOYMENTS].get("kaito-system", "kaito-workspace")
    images = {each.name: each.image for each in after.spec.template.spec.containers}
    assert images == {"workspace": "kaito:new", "sidecar": "sidecar:1"}


def test_other_lists_are_replaced(snapshot):
    text = """
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata: {name: phi-4-mini-route, namespace: chat-models}
    spec: {parentRefs: [{name: other}]}
    """
    done = applied(snapshot, text)
    route = done.snapshot[HTTPROUTES].get("chat-models", "phi-4-mini-route")
    assert [each.name for each in route.spec.parent_refs] == ["other"]


def test_what_changes_nothing_is_settled(snapshot):
    done = applied(
        snapshot,
        """
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: kaito-workspace, namespace: kaito-system}
        """,
    )
    assert done.unsettled == frozenset()
    assert done.notes == ("The manifests change nothing that is read.",)


def test_a_new_object_has_no_status_and_the_servers_metadata(snapshot):
    """As the API server makes it, in the namespace that is asked for."""
    done = applied(
        snapshot,
        """
        apiVersion: gateway.networking.k8s.io/v1
        kind: Gateway
        metadata: {name: new, uid: mine, generation: 7}
        spec: {gatewayClassName: istio}
        status: {conditions: [{type: Programmed, status: "True"}]}
        """,
        namespace="chat-models",
    )
    gateway = done.snapshot[GATEWAYS].get("chat-models", "new")
    assert (gateway.created, gateway.metadata.generation) == (NOW, 1)
    assert gateway.metadata.uid != "mine"
    assert not gateway.status.conditions


def test_a_list_a_namespace_and_a_definition_come_before_what_needs_them():
    """As kubectl orders them; a definition makes its kind served."""
    snapshot = Snapshot(
        states={
            NAMESPACES: ResourceState(Served.SERVED),
            INFERENCESETS: ResourceState(Served.ABSENT),
        }
    )
    done = applied(
        snapshot,
        """
        apiVersion: v1
        kind: List
        items:
        - {apiVersion: kaito.sh/v1beta1, kind: InferenceSet, metadata: {name: m, namespace: new}}
        - {apiVersion: v1, kind: Namespace, metadata: {name: new}}
        ---
        apiVersion: apiextensions.k8s.io/v1
        kind: CustomResourceDefinition
        metadata: {name: inferencesets.kaito.sh}
        """,
    )
    assert done.notes == ()
    assert [each.name for each in done.snapshot[INFERENCESETS]] == ["m"]


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ("{apiVersion: batch/v1, kind: Job, metadata: {name: j}}", "Job j has a kind that is not read, so it is ignored."),
        ("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: nowhere}}", "Pod nowhere/p could not be applied: there is no namespace nowhere."),
        ("{apiVersion: kaito.sh/v9, kind: InferenceSet, metadata: {name: m, namespace: chat-models}}", "InferenceSet chat-models/m could not be applied: version v9 of it is not known."),
        ("{apiVersion: v1, kind: Pod}", "A document has no kind, apiVersion or name, and was not applied."),
        ("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: chat-models}, spec: {containers: 3}}", "It would be skipped: pods chat-models/p: spec.containers is not a list."),
    ],
)  # fmt: skip
def test_what_cannot_be_applied_is_said(snapshot, manifest, says):
    assert applied(snapshot, manifest).notes[0] == says


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (ResourceState(Served.ABSENT), "the cluster does not serve inferencesets.kaito.sh"),
        (ResourceState(Served.UNKNOWN, cause="forbidden"), "inferencesets.kaito.sh could not be read (forbidden)"),
    ],
)  # fmt: skip
def test_a_kind_that_is_not_there_takes_nothing(state, says):
    snapshot = Snapshot(states={INFERENCESETS: state})
    text = "{apiVersion: kaito.sh/v1beta1, kind: InferenceSet, metadata: {name: m, namespace: n}}"
    done = applied(snapshot, text)
    assert done.notes[0] == f"InferenceSet n/m could not be applied: {says}."
    assert done.unsettled == frozenset()
