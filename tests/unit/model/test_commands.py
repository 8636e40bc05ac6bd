"""What to type to look at an object."""

import pytest

from reporter.model.commands import MOST, commands_for, describe_command
from reporter.model.subject import API_RESOURCE, ObjectRef

KAITO = ObjectRef("apps/v1", "Deployment", "kaito-system", "kaito-workspace")


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
    """Two to five commands, each with its names."""
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
    """It is copied into a shell."""
    assert commands_for(related) == ()
    assert describe_command(related) == ""


def test_the_logs_before_a_crash_are_among_those_of_a_pod():
    """The last lines of a container that crashed are those of the one before."""
    assert any("--previous" in each for each in commands_for(ObjectRef("v1", "Pod", "a", "b")))


def test_commands_of_the_reason_come_behind_and_none_twice():
    """There are five at most."""
    own = commands_for(KAITO)
    assert commands_for(KAITO, (own[0], "kubectl get x")) == (*own, "kubectl get x")
    assert len(commands_for(KAITO, map(str, range(9)))) == MOST
