"""What `make image` and `make image-load` ask of an engine, and what old ones refuse."""

import platform
import subprocess

import pytest

PODMAN = """#!/bin/sh
case "$1" in
version) echo {version} ;;
build) echo "$@"; shift; grep -c -- "RUN --network" "$2" || true ;;
save) [ ! -e "$3" ] || {{ echo "docker-archive doesn't support modifying existing images"; exit 125; }}; echo > "$3" ;;
esac
"""
"""As podman 4.3 of Debian 12 does it, where it differs from docker."""


@pytest.fixture
def make(tmp_path):
    """Run a target with an engine of a version."""

    def run(target, version="4.3.1", *, engine="podman", more=()):
        path = tmp_path / engine
        path.write_text(PODMAN.format(version=version), encoding="utf-8")
        path.chmod(0o755)
        files = {
            "IMAGE_TAR": tmp_path / "build" / "image.tar",
            "OLD_PODMAN_DOCKERFILE": tmp_path / "build" / "Dockerfile.podman",
        }
        given = [f"{name}={value}" for name, value in files.items()]
        command = ["make", "--no-print-directory", target, f"ENGINE={path}", *given, *more]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


@pytest.mark.parametrize(
    ("version", "isolated"),
    [("3.4.4", False), ("4.3.1", False), ("4.4.9", False), ("4.5.0", True), ("4.10.0", True), ("5.4.2", True)],
)  # fmt: skip
def test_podman_is_given_what_it_understands(make, version, isolated):
    """RUN --network is refused before 4.5; from then on steps without a need have no network."""
    built = make("image", version)
    assert built.returncode == 0, built.stderr
    assert built.stdout.splitlines()[-1] == ("2" if isolated else "0")


def test_podman_is_told_the_architecture(make):
    """It does not always name TARGETARCH by itself, and warns."""
    name = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    assert f"--build-arg TARGETARCH={name} " in make("image").stdout


def test_docker_builds_the_dockerfile_as_it_is(make):
    """Its TARGETARCH follows from the platform."""
    built = make("image", engine="docker")
    assert built.stdout.splitlines()[-1] == "2"
    assert "TARGETARCH" not in built.stdout


def test_an_image_is_loaded_a_second_time(make):
    """podman does not write over an archive that is there."""
    for _ in range(2):
        loaded = make("image-load", more=["LOAD_INTO=tar"])
        assert loaded.returncode == 0, loaded.stdout + loaded.stderr
