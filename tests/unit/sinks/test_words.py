"""Ages, impact, and what to do about a finding, with the names that are known filled in."""

from datetime import timedelta

import pytest

from reporter.model.report import Impact
from reporter.model.subject import ObjectRef
from reporter.sinks.words import NOBODY, action_of, age, describe_command, impact_text
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import MODEL_PODS
from reporter.stacks.kserve.reasons import INFERENCESERVICE_KIND
from reporter.stacks.kthena.reasons import MODELSERVING_KIND, ROLE_DELETING
from tests.unit.sinks.page.reports import EPP, finding, model


@pytest.mark.parametrize(
    ("api_version", "kind", "namespace", "name", "told"),
    [
        ("apps/v1", "Deployment", "team", "a-predictor", "-n team describe inferenceservice a,"),
        ("serving.kserve.io/v1beta1", "InferenceService", "team", "a", "describe inferenceservice a,"),
        # What is copied into a shell holds proper names only.
        ("apps/v1", "Deployment", "team;reboot", "a-predictor", "kubectl -n <namespace> describe"),
    ],
    ids=["an object of the subject is at fault", "the subject itself is", "no proper name"],
)  # fmt: skip
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
        ("kaito.sh/v1beta1", "Workspace", "a", "kubectl -n team describe workspace.kaito.sh a: no pod is at fault."),
    ],
)  # fmt: skip
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


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (8 * 3600 - 1, "7h59m"),
        (8 * 3600 + 60, "8h"),
        (48 * 3600 - 1, "47h"),
        (48 * 3600, "2d"),
        (49 * 3600, "2d1h"),
        (8 * 86400 - 1, "7d23h"),
        (8 * 86400, "8d"),
        (729 * 86400, "729d"),
        (730 * 86400, "2y"),
        (731 * 86400, "2y1d"),
        (8 * 365 * 86400, "8y"),
        (9 * 365 * 86400 + 86400, "9y"),
    ],
)
def test_ages_are_written_as_kubectl_writes_them(seconds, text):
    """Two units at most, and coarser the longer ago."""
    assert age(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((0, 0, 0), NOBODY),
        ((1, 0, 1), "1 model does not serve"),
        ((12, 0, 4), "12 models in 4 namespaces do not serve"),
        ((0, 1, 1), "1 model serves, degraded"),
        ((0, 3, 2), "3 models in 2 namespaces serve, degraded"),
        ((2, 1, 1), "2 models do not serve, 1 serves degraded"),
        ((930, 0, 1, 70), "930 models do not serve because of it; 70 more do not serve for other causes"),
        ((0, 1, 1, 1), "1 model serves, degraded; 1 more does not serve for other causes"),
        ((0, 0, 0, 2), "2 models do not serve for other causes"),
        ((1, 2, 3), "1 model does not serve, 2 serve degraded, in 3 namespaces"),
    ],
)  # fmt: skip
def test_impact_in_words(counts, text):
    """The models that do not serve come first, and each number has its verb."""
    assert impact_text(Impact(*counts)) == text
