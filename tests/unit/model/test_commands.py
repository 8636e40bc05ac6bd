"""Commands for looking at an object."""

import pytest

from reporter.model.commands import MOST, commands_for, describe_command
from reporter.model.finding import Fails
from reporter.model.subject import API_RESOURCE, ObjectRef

KAITO = ObjectRef("apps/v1", "Deployment", "kaito-system", "kaito-workspace")

POD = ObjectRef("v1", "Pod", "team", "a-0")


@pytest.mark.parametrize(
    ("related", "first"),
    [
        (KAITO, "kubectl -n kaito-system describe deployment kaito-workspace"),
        (ObjectRef("v1", "Pod", "team", "a-0"), "kubectl -n team describe pod a-0"),
        (ObjectRef("v1", "Node", "", "gpu-1"), "kubectl describe node gpu-1"),
        (
            ObjectRef("kaito.sh/v1beta1", "Workspace", "team", "w"),
            "kubectl -n team describe workspace.kaito.sh w",
        ),
        (
            ObjectRef("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "x.keda.sh"),
            "kubectl get crd x.keda.sh",
        ),
        (ObjectRef("v1", API_RESOURCE, "", "pods"), "kubectl auth can-i list pods -A"),
    ],
)
def test_the_first_command_shows_the_object_and_more_follow(related, first):
    commands = commands_for(related)
    assert commands[0] == first
    assert 2 <= len(commands) <= MOST


@pytest.mark.parametrize(
    "related",
    [
        ObjectRef("v1", "Pod", "team", "<script>"),
        ObjectRef("v1", "Pod", "team", "--all"),
        ObjectRef("v1", "Pod", "team; reboot", "a"),
        ObjectRef("v1", "Pod", "team", "a\n"),
        ObjectRef("v1", "$(reboot)", "team", "a"),
        ObjectRef("$(reboot)/v1", "Pod", "team", "a"),
        ObjectRef("status-reporter.io/v1", "Probe", "", "clusterKedaNotReady/Deployment keda"),
    ],
)
def test_a_command_holds_nothing_but_proper_names(related):
    assert commands_for(related) == ()
    assert describe_command(related) == ""


@pytest.mark.parametrize("at_fault", [POD, KAITO])
def test_the_logs_before_a_crash_are_there_though_other_containers_had_no_run_before(at_fault):
    """Otherwise, kubectl would print nothing but an error about the container that never ended."""
    (previous,) = [
        each for each in commands_for(at_fault, fails=Fails.CRASHING) if "--previous" in each
    ]
    assert "--all-containers --ignore-errors --prefix" in previous


@pytest.mark.parametrize(
    ("about", "name"),
    [("container vllm", "vllm"), ("init container storage-initializer", "storage-initializer")],
)
def test_the_logs_are_those_of_the_container_at_fault(about, name):
    assert commands_for(POD, about=about, fails=Fails.CRASHING)[1:] == (
        f"kubectl -n team logs a-0 -c {name} --tail=50 --previous",
        f"kubectl -n team logs a-0 -c {name} --tail=50",
    )


@pytest.mark.parametrize("about", ["image of container vllm", "container $(reboot)", "anything"])
def test_what_names_no_container_asks_for_the_logs_of_all(about):
    """A container without an image has no logs, and a command contains only names."""
    assert commands_for(POD, about=about) == commands_for(POD)


@pytest.mark.parametrize(
    ("ref", "second"),
    [
        (ObjectRef("v1", "Service", "team", "a"), "get endpointslices"),
        (ObjectRef("serving.knative.dev/v1", "Service", "team", "a"), ".status.conditions[*]"),
        (ObjectRef("inference.networking.k8s.io/v1", "InferencePool", "team", "a"), "{.status.parents}"),
        (ObjectRef("inference.networking.x-k8s.io/v1alpha2", "InferencePool", "team", "a"), "{.status.parent}"),
        (ObjectRef("example.com/v1", "Gateway", "team", "a"), ".status.conditions[*]"),
    ],
)  # fmt: skip
def test_kinds_of_one_name_are_told_apart_by_their_group(ref, second):
    """A Knative Service has no endpoints of its own, and a former pool has other fields."""
    commands = commands_for(ref)
    assert second in commands[1]
    assert "gateway.networking.k8s.io" not in "".join(commands)


def test_commands_of_the_reason_come_behind_and_none_twice():
    own = commands_for(KAITO)
    assert commands_for(KAITO, (own[0], "kubectl get x")) == (*own, "kubectl get x")
    assert len(commands_for(KAITO, map(str, range(9)))) == MOST


@pytest.mark.parametrize(
    ("fails", "shown"),
    [
        (Fails.ZERO, ["describe", "--show-managed-fields", "get hpa"]),
        (Fails.REFUSED, ["describe", "reason=FailedCreate", "quota,limitrange"]),
        (Fails.UNSCHEDULED, ["describe", "reason=FailedScheduling", "get nodes"]),
        (Fails.WAITING, ["describe", "get pods -o wide", "get events"]),
        (Fails.CRASHING, ["describe", "--previous", "logs", "rollout history"]),
        (Fails.UNREADY, ["describe", "logs", "get pods -o wide", "rollout history"]),
    ],
)
def test_what_is_typed_fits_the_way_in_which_it_fails(fails, shown):
    found = commands_for(KAITO, fails=fails)
    assert len(found) == len(shown)
    assert all(word in each for word, each in zip(shown, found, strict=True))
