"""What the chart asks of the image, the image gives."""

import pytest

from tests.helm import charts


@pytest.fixture(scope="module")
def release():
    """What the chart renders from its defaults."""
    return charts.render()


def test_arguments_follow_the_entry_point(dockerfile, release):
    """The chart gives a command of the program, and leaves the entry point to the image."""
    assert "command" not in release.container
    assert release.container["args"][0] == "run"
    assert dockerfile.final.words("ENTRYPOINT")[-1].endswith("/status-reporter")


def test_user_is_the_same(dockerfile, release):
    """The image's user is the one that the pod runs as."""
    security = release.pod["securityContext"]
    uid, gid = dockerfile.final.last("USER").split(":")
    assert (str(security["runAsUser"]), str(security["runAsGroup"])) == (uid, gid)


def test_ports_are_told(dockerfile, release):
    """What the chart names is what the image says it serves."""
    ports = {str(port["containerPort"]) for port in release.container["ports"]}
    assert ports == set(dockerfile.final.last("EXPOSE").split())


def test_image_is_the_one_that_make_builds(release):
    """Without values, the chart looks for what `make image` names."""
    makefile = charts.CHARTS.parent / "image" / "targets.mk"
    name = release.container["image"].rpartition(":")[0]
    assert f"IMAGE ?= {name}\n" in makefile.read_text(encoding="utf-8")
