"""What to do about a finding, with the names that are known filled in."""

import pytest

from reporter.model.subject import ObjectRef
from reporter.sinks.words import action_of, describe_command
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import MODEL_PODS
from reporter.stacks.kserve.reasons import INFERENCESERVICE_KIND
from reporter.stacks.kthena.reasons import MODELSERVING_KIND, ROLE_DELETING
from tests.unit.sinks.page.reports import EPP, finding, model


@pytest.mark.parametrize(
    ("api_version", "kind", "namespace", "name", "told"),
    [
        ("apps/v1", "Deployment", "team", "a-predictor", "-n team describe inferenceservice a,"),
        (
            "serving.kserve.io/v1beta1",
            "InferenceService",
            "team",
            "a",
            "describe inferenceservice a,",
        ),
        # What is copied into a shell holds proper names only.
        ("apps/v1", "Deployment", "team;reboot", "a-predictor", "kubectl -n <namespace> describe"),
    ],
    ids=["an object of the subject is at fault", "the subject itself is", "no proper name"],
)
def test_names_are_filled_in(api_version, kind, namespace, *, name, told):
    """Whoever is paged copies the command as it stands."""
    subject = model("a", kind=INFERENCESERVICE_KIND)
    related = ObjectRef(api_version, kind, namespace, name)
    found = finding("inferenceserviceComponentNotReady", subject, related=related)
    assert told in action_of(found, BUILT_IN)


@pytest.mark.parametrize(
    ("api_version", "kind", "name", "told"),
    [
        ("v1", "Pod", "a-0", "kubectl -n team describe pod a-0, and its logs"),
        (
            "kaito.sh/v1beta1",
            "Workspace",
            "a",
            "kubectl -n team describe workspace.kaito.sh a: no pod is at fault.",
        ),
    ],
)
def test_a_pod_is_named_where_there_is_one(api_version, kind, name, *, told):
    """A replica without a pod leaves no pod to describe, only what it is made by."""
    related = ObjectRef(api_version, kind, "team", name)
    action = action_of(finding(MODEL_PODS, model("a"), related=related), BUILT_IN)
    assert action.startswith(told)
    assert "<" not in action


def test_sentences_that_are_not_about_the_pod_stay():
    related = ObjectRef("v1", "Service", "team", "a")
    found = finding(ROLE_DELETING, model("a", kind=MODELSERVING_KIND), related=related)
    told = "kubectl -n team describe service a: no pod is at fault. Kthena recreates the instance"
    assert action_of(found, BUILT_IN).startswith(told)


def test_reason_that_the_catalogue_does_not_have():
    assert action_of(finding("customFault"), BUILT_IN) == ""
    assert action_of(finding(EPP, model("a")), BUILT_IN) != ""


@pytest.mark.parametrize(
    ("api_version", "kind", "namespace", "name", "command"),
    [
        ("v1", "Pod", "team", "a-0", "kubectl -n team describe pod a-0"),
        ("apps/v1", "Deployment", "team", "a", "kubectl -n team describe deployment a"),
        ("v1", "Node", "", "gpu-1", "kubectl describe node gpu-1"),
        # No objects: a resource that cannot be read, a probe that failed.
        ("v1", "APIResource", "", "pods", ""),
        ("status-reporter.io/v1", "Probe", "", "clusterKedaNotReady/Deployment keda-operator", ""),
        ("v1", "Pod", "team", "a;reboot", ""),
    ],
)
def test_only_what_is_an_object_has_a_command(api_version, kind, namespace, *, name, command):
    """Whoever copies it at night must not be told that the resource type does not exist."""
    assert describe_command(ObjectRef(api_version, kind, namespace, name)) == command
