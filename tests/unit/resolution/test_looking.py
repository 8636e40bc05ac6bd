"""What to type to look at what a finding means."""

import pytest

from reporter.model.commands import MOST, commands_for, conditions_command
from reporter.model.finding import Fails
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.stacks.kaito.reasons import INFERENCESET_KIND, INFERENCESETS
from reporter.stacks.kthena.reasons import MODELSERVING_KIND, MODELSERVINGS, MODELSERVINGS_FORMER
from tests.unit.probes.building import snapshot_of
from tests.unit.resolution.building import Resolver, finding

PODS, SCALING = "inferencesetModelPodsNotReady", "inferencesetScalingMisconfigured"
STALE = "inferencesetEPPStaleMetrics"
"""Comes from metrics; its row has a command with the namespace."""

SETTINGS = "get inferenceset.kaito.sh {} -o jsonpath='{{.metadata.annotations}}'"


def model(place, name="m"):
    """A model in a namespace that no other case has, so that nothing is known of it yet."""
    return Subject(INFERENCESET_KIND, place, name)


def pod(place, name="p"):
    return ObjectRef("v1", "Pod", place, name)


def config(place):
    return ObjectRef("v1", "ConfigMap", place, "c")


def conditions(place, name="m"):
    return conditions_command(INFERENCESETS.ref_named(place, name))


def commands_of(reason, subject, related, *, there=True, **fields):
    """The commands in the report, where the object at fault is there, or is not."""
    metadata = {"namespace": related.namespace, "name": related.name}
    doc = {"apiVersion": related.api_version, "kind": related.kind, "metadata": metadata}
    found = finding(reason, subject=subject, related=related, exempt=True, **fields)
    resolver = Resolver()
    resolver.look(0, found, seen=snapshot_of(*([doc] if there else [])))
    return resolver[reason].commands


@pytest.mark.parametrize(
    ("reason", "subject", "related", "more"),
    [
        pytest.param(
            SCALING, model("look-a"), config("look-a"),
            (f"kubectl -n look-a {SETTINGS.format('m')}", conditions("look-a")),
            id="what belongs to the reason, then the conditions of the model",
        ),
        pytest.param(
            PODS, model("look-b"), pod("look-b"), (conditions("look-b"),),
            id="a pod, of a reason without metrics",
        ),
        pytest.param(
            "inferencesetEPPShedding", model("look-c"), pod("look-c"),
            ("status-reporter status --pod look-c/p", conditions("look-c")),
            id="a pod, of a reason with metrics: what they say",
        ),
        pytest.param(
            STALE, model("look-d"), config("look-d"),
            ("kubectl -n look-d get pods -o wide", conditions("look-d")),
            id="no pod, of a reason with metrics",
        ),
        pytest.param(
            STALE, model("look-e"), pod("look-e", "$(reboot)"),
            ("kubectl -n look-e get pods -o wide", conditions("look-e")),
            id="a pod whose name is none",
        ),
        pytest.param(
            SCALING, model("look-f", "$(reboot)"), config("look-f"), (),
            id="a model whose name is none",
        ),
        pytest.param(
            SCALING, model("$(reboot)", "look-g"), config("look-g"), (),
            id="a model whose namespace is none",
        ),
        pytest.param(
            "clusterKedaNotReady", CLUSTER, config("look-h"), (),
            id="the cluster has no conditions",
        ),
        pytest.param(
            "modelservingInvalidSpec",
            Subject(MODELSERVING_KIND, "look-i", "m"), config("look-i"),
            (conditions_command(MODELSERVINGS.ref_named("look-i", "m")),),
            id="a model whose kind is of two groups: the first",
        ),
    ],
)  # fmt: skip
def test_the_object_at_fault_comes_first_and_then_what_belongs_to_the_reason(
    reason, subject, related, more
):
    """A part of a name that is no proper name never gets into a command."""
    found = commands_of(reason, subject, related)
    assert found == (*commands_for(related), *more)
    assert len(found) <= MOST
    assert MODELSERVINGS_FORMER.group not in "".join(found)


def test_the_logs_are_those_of_the_container_at_fault():
    found = commands_of(
        PODS, model("look-j"), pod("look-j"), about="container vllm", fails=Fails.CRASHING
    )
    assert found[1] == "kubectl -n look-j logs p -c vllm --tail=50 --previous"


@pytest.mark.parametrize(
    ("related", "first"),
    [
        (
            ObjectRef("apps/v1", "Deployment", "kaito-system", "kaito-workspace"),
            "kubectl -n kaito-system get deployment",
        ),
        (ObjectRef("v1", "Service", "look-k", "s"), "kubectl -n look-k get service"),
        (ObjectRef("v1", "Node", "", "gpu-1"), "kubectl get node"),
    ],
)
def test_of_what_does_not_exist_is_shown_what_is_there_instead(related, first):
    """To describe it fails, and nobody wrote a log."""
    found = commands_of("clusterKaitoControllerNotReady", CLUSTER, related, there=False)
    assert found[0] == first
    assert not [each for each in found if " describe " in each or " logs " in each]
    if related.kind == "Deployment":
        assert found[1].startswith("kubectl get deployment -A --field-selector metadata.name=")
        assert "helm list -A" in found


def test_of_a_pod_that_is_lost_with_its_node_the_node_is_looked_at_first():
    found = commands_of(
        PODS, model("look-l"), pod("look-l"), lost_node="gpu-1", fails=Fails.WAITING
    )
    assert found[:2] == ("kubectl get node", "kubectl -n look-l describe pod p")
    assert not [each for each in found if " logs " in each]
