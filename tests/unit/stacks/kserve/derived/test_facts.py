"""How the objects of an InferenceService are found."""

import pytest

from reporter.catalogue import resources as r
from reporter.stacks.kserve.derived.facts import facts_of
from reporter.stacks.kserve.objects import Component, Mode
from reporter.stacks.kserve.reasons import KNATIVE_SERVICES
from tests.unit.probes.building import pod
from tests.unit.stacks.kserve.derived.building import (
    STANDARD,
    TRANSFORMED,
    annotated,
    cluster,
    inferenceservice,
    knative_service,
    predictor_pod,
    raw_deployment,
    the_service,
    typed,
)


def facts(*docs, unknown=()):
    snapshot = cluster(*docs, unknown=unknown)
    return facts_of(the_service(snapshot), snapshot)


def names(objects):
    return [each.name for each in objects]


def test_knative_services_by_name():
    """One for each component in spec; others are not looked for."""
    found = facts(
        inferenceservice(TRANSFORMED),
        knative_service("v1, v1", ""),
        knative_service("t1, t1", "", component="transformer"),
        knative_service("e1, e1", "", component="explainer"),
    )
    assert {each: service.name for each, service in found.services.items()} == {
        Component.PREDICTOR: "llm-predictor",
        Component.TRANSFORMER: "llm-transformer",
    }


@pytest.mark.parametrize("both", [False, True])
def test_an_older_knative_service_has_default_after_its_name(both):
    """The newer name wins where both exist."""
    docs = [knative_service("v0, v0", "", component="predictor-default")]
    docs += [knative_service("v1, v1", "")] * both
    found = facts(inferenceservice(), *docs).services[Component.PREDICTOR]
    assert found.name == ("llm-predictor" if both else "llm-predictor-default")


def test_pods_of_the_latest_created_revision():
    """In Knative mode, also while an older revision serves."""
    found = facts(
        inferenceservice(),
        knative_service("v2, v1", "v1:100 L"),
        predictor_pod(name="old", of="v1"),
        predictor_pod(name="new-b", of="v2"),
        predictor_pod(name="new-a", of="v2"),
    )
    assert names(found.pods) == ["new-a", "new-b"]


def test_pods_of_the_deployment():
    """In Standard mode, by the label `app`."""
    found = facts(
        inferenceservice(STANDARD),
        raw_deployment(),
        predictor_pod(),
        pod("models", "other", "isvc.llm-transformer"),
    )
    assert names(found.pods) == ["pod-a"]
    assert names(found.deployments[Component.PREDICTOR]) == ["llm-predictor"]


def test_an_older_deployment_has_default_after_its_name():
    """KServe goes on with it, so it and its pods are the component's."""
    labels = {"metadata": {"labels": {"app": "isvc.llm-predictor-default"}}}
    found = facts(
        inferenceservice(STANDARD),
        raw_deployment(name="llm-predictor-default"),
        predictor_pod(labels),
    )
    assert names(found.deployments[Component.PREDICTOR]) == ["llm-predictor-default"]
    assert names(found.pods) == ["pod-a"]


def test_workers_only_where_there_are_several_nodes():
    """A Deployment of that name is nobody's without a workerSpec."""
    docs = (raw_deployment(), raw_deployment(name="llm-predictor-worker"))
    several = {"spec": {"predictor": {"workerSpec": {}}}}
    one = facts(inferenceservice(STANDARD), *docs).deployments[Component.PREDICTOR]
    two = facts(inferenceservice(STANDARD, several), *docs).deployments[Component.PREDICTOR]
    assert names(one) == ["llm-predictor"]
    assert names(two) == ["llm-predictor", "llm-predictor-worker"]


def test_unknown_is_not_absent():
    """What cannot be read is None; in Knative mode pods are found through the Knative Service."""
    found = facts(inferenceservice(), unknown=[KNATIVE_SERVICES, r.DEPLOYMENTS])
    assert (found.services, found.deployments, found.pods) == (None, None, None)
    assert facts(inferenceservice()).pods == ()


@pytest.mark.parametrize(
    ("status", "annotation", "mode"),
    [
        ("Knative", "Standard", Mode.KNATIVE),
        ("", "Standard", Mode.STANDARD),
        ("", "RawDeployment", Mode.STANDARD),
        ("Serverless", "", Mode.KNATIVE),
        ("", "ModelMesh", Mode.MODELMESH),
        ("", "", Mode.STANDARD),
        ("", "Unheard", Mode.STANDARD),
    ],
)
def test_deployment_mode(status, annotation, mode):
    """The status decides, then the annotation, then what KServe is configured with."""
    patch = {"status": {"deploymentMode": status}}
    found = typed(inferenceservice(patch, annotated(deploymentMode=annotation)))
    assert facts_of(found, cluster(), Mode.STANDARD).mode is mode
