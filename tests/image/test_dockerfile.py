"""What the Dockerfile must say, whoever edits it next."""

import re
import subprocess
import sys
import tomllib
from asyncio import sslproto
from pathlib import Path

from image.check.dockerfile import DOCKERFILE, Dockerfile

SECRETS = re.compile("token|password|secret|credential", re.IGNORECASE)


def test_hadolint_has_nothing_to_say():
    """The linter is part of `make check`, and of the tests."""
    hadolint = Path(sys.executable).with_name("hadolint")
    linted = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True, check=False)
    assert (linted.returncode, linted.stdout) == (0, "")


def test_base_image_has_an_exact_tag(dockerfile):
    """Patch release and Debian release are named, so that a build tomorrow starts from the same."""
    base = dockerfile.arguments["BASE_IMAGE"]
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-bookworm(@sha256:[0-9a-f]{64})?", base)


def test_base_image_has_the_oldest_python_that_is_supported(dockerfile):
    """The wheels are locked for that version, and it is the one that is tested."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    minor = re.match(r"python:(3\.\d+)\.", dockerfile.arguments["BASE_IMAGE"])[1]
    assert project["project"]["requires-python"] == f">={minor}"
    assert project["tool"]["mypy"]["python_version"] == minor


def test_all_stages_start_from_that_base_or_from_scratch(dockerfile):
    """No other image gets in."""
    assert {stage.base for stage in dockerfile.stages} == {"${BASE_IMAGE}", "scratch"}


def test_nothing_of_the_target_is_executed(dockerfile):
    """What runs, runs on the machine's own platform: no emulation, and the check does the same."""
    running = [stage for stage in dockerfile.stages if stage.runs()]
    assert [(stage.name, stage.platform) for stage in running] == [("build", "${BUILDPLATFORM}")]


def test_image_is_a_copy_of_what_was_built(dockerfile):
    """From scratch, so that nothing deleted is shipped in a lower layer."""
    assert dockerfile.final.base == "scratch"
    assert dockerfile.final.all("COPY") == [
        "--from=build /build/rootfs/ /",
        "--from=build /build/installed/ /usr/local/",
    ]


def test_only_the_download_has_a_network(dockerfile):
    """One step reaches the registry; building and installing cannot."""
    online = [
        run.command for run in dockerfile.stage("build").runs() if "--network=none" not in run.flags
    ]
    assert len(online) == 1
    assert online[0].startswith("python -m image fetch ")


def test_user_is_a_number_other_than_root(dockerfile):
    """The kubelet can only tell that a number is not root."""
    assert dockerfile.final.last("USER") == "65532:65532"


def test_process_1_is_the_program(dockerfile):
    """No shell stands between a signal and the program."""
    assert dockerfile.final.words("ENTRYPOINT") == ["/usr/local/bin/status-reporter"]
    assert dockerfile.final.last("STOPSIGNAL") == "SIGTERM"


def test_nothing_is_written_beside_the_sources(dockerfile):
    """The root file system is read-only."""
    assert dockerfile.final.variables("ENV")["PYTHONDONTWRITEBYTECODE"] == "1"


def test_memory_that_was_freed_goes_back(dockerfile):
    """The bench takes the allocator's settings from here, so its figures are the image's."""
    variables = dockerfile.final.variables("ENV")
    assert {name for name in variables if name.startswith("MALLOC_")} == {
        "MALLOC_ARENA_MAX",
        "MALLOC_TRIM_THRESHOLD_",
        "MALLOC_MMAP_THRESHOLD_",
    }


def test_a_read_of_tls_maps_no_memory(dockerfile):
    """A threshold that is set stays; glibc's first one is below what asyncio asks for with each read."""
    threshold = int(dockerfile.final.variables("ENV")["MALLOC_MMAP_THRESHOLD_"])
    assert threshold > sslproto.SSLProtocol.max_size


def test_labels_tell_version_and_commit(dockerfile):
    """Of the build arguments that `make image` gives."""
    labels = dockerfile.final.variables("LABEL")
    prefix = "org.opencontainers.image."
    assert labels[f"{prefix}version"] == "${VERSION}"
    assert labels[f"{prefix}revision"] == "${STATUS_REPORTER_COMMIT}"


def test_no_build_argument_is_a_secret(dockerfile):
    """Build arguments can be read from the image."""
    names = [rest for stage in dockerfile.stages for rest in stage.all("ARG")]
    assert [name for name in names if SECRETS.search(name)] == []


def test_reading_a_dockerfile(tmp_path):
    """Continued lines are joined, comments among them are dropped, flags are told from commands."""
    path = tmp_path / "Dockerfile"
    path.write_text(
        "ARG BASE=a:1\n"
        "FROM --platform=linux/arm64 ${BASE} AS one\n"
        "RUN --network=none \\\n"
        "    # why\n"
        "    first --flag \\\n"
        "    && second\n"
        'ENV A=1 \\\n    B="two words"\n'
        "FROM one\n"
        'CMD ["x"]\n',
        encoding="utf-8",
    )
    read = Dockerfile.read(path)
    one = read.stage("one")
    assert (one.base, one.platform) == ("${BASE}", "linux/arm64")
    assert [(run.flags, run.command) for run in one.runs()] == [
        (("--network=none",), "first --flag && second")
    ]
    assert one.variables("ENV") == {"A": "1", "B": "two words"}
    assert (read.arguments, read.final.words("CMD")) == ({"BASE": "a:1"}, ["x"])
