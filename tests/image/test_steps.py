"""The steps of the build that need no network."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from image.fetch import platform_flags
from image.sbom import SbomError, validate
from image.strip import strip_python
from image.tree import normalise

BASE_PROGRAMS = (
    "2to3", "2to3-3.11", "idle", "idle3", "idle3.11", "pip", "pip3", "pip3.11", "pydoc", "pydoc3",
    "pydoc3.11", "python", "python-config", "python3", "python3-config", "python3.11",
    "python3.11-config", "wheel",
)  # fmt: skip
"""What the official image has in /usr/local/bin."""

BASE_PACKAGES = ("ensurepip", "site-packages/pip", "site-packages/setuptools", "idlelib", "json")


@pytest.fixture
def prefix(tmp_path):
    """Python as in the base image: programs, some packages, and the modules they are compiled by."""
    library = tmp_path / "lib" / "python3.11"
    for program in BASE_PROGRAMS:
        place = tmp_path / "bin" / program
        place.parent.mkdir(exist_ok=True)
        place.touch(mode=0o755)
    for package in BASE_PACKAGES:
        place = library / package / "__init__.py"
        place.parent.mkdir(parents=True)
        place.touch()
    (library / "os.py").write_text("name = 'posix'\n", encoding="utf-8")
    return tmp_path


def test_build_tools_of_the_base_image_are_taken_out(prefix):
    """Python stays, and what builds, installs or edits goes."""
    strip_python(prefix)
    programs = sorted(path.name for path in (prefix / "bin").iterdir())
    assert programs == ["python", "python3", "python3.11"]
    packages = {path.name for path in (prefix / "lib" / "python3.11").iterdir() if path.is_dir()}
    assert packages == {"json", "site-packages", "__pycache__"}
    assert list((prefix / "lib" / "python3.11" / "site-packages").iterdir()) == []


def test_library_is_compiled_at_the_time_of_the_base_image(prefix):
    """So that the layer of Python does not change with each release."""
    source = prefix / "lib" / "python3.11" / "os.py"
    before = source.stat().st_mtime
    strip_python(prefix)
    compiled = source.parent / "__pycache__" / f"os.{sys.implementation.cache_tag}.pyc"
    assert compiled.stat().st_mtime == before


def test_modes_and_times_do_not_depend_on_who_built(tmp_path):
    """Everybody may read, nobody but the owner may write, and links keep what they point to."""
    (tmp_path / "private").touch(mode=0o600)
    (tmp_path / "program").touch(mode=0o700)
    (tmp_path / "link").symlink_to("/nowhere")
    normalise(tmp_path, 1_700_000_000)
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.glob("p*")}
    assert modes == {"private": "0o644", "program": "0o755"}
    assert {path.lstat().st_mtime for path in tmp_path.iterdir()} == {1_700_000_000}


@pytest.mark.parametrize(("arch", "machine"), [("amd64", "x86_64"), ("arm64", "aarch64")])
def test_wheels_are_for_the_target_and_debian_12(arch, machine):
    """glibc 2.36 is what the base image has; wheels for a newer one would not start."""
    flags = list(platform_flags(arch))
    assert all(flag.endswith(f"_{machine}") for flag in flags)
    assert f"--platform=manylinux_2_36_{machine}" in flags
    assert f"--platform=manylinux_2_37_{machine}" not in flags


def test_build_backend_is_locked_for_what_the_project_asks():
    """`make lock` resolves the file, which must say what pyproject.toml says."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    lines = Path("image/build-requirements.in").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.startswith("#")] == project["build-system"][
        "requires"
    ]
    lock = Path("image/build-requirements.lock").read_text(encoding="utf-8")
    assert re.search(r"^hatchling==\S+ \\\n\s+--hash=sha256:", lock, re.MULTILINE)


def bill(*components):
    listed = [{"type": "library", "name": n, "version": v} for n, v in components]
    return json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.6", "components": listed})


LOCK = (
    "pyyaml==6.0.3 \\\n    --hash=sha256:00\ntyping-extensions==4.16.0 \\\n    --hash=sha256:00\n"
)


@pytest.mark.long
def test_bill_of_what_is_locked_is_valid():
    """Names are compared as the registry does."""
    validate(bill(("PyYAML", "6.0.3"), ("typing_extensions", "4.16.0")), LOCK)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (bill(("PyYAML", "6.0.3")), "typing-extensions"),
        (bill(("PyYAML", "6.0.2"), ("typing_extensions", "4.16.0")), "pyyaml"),
        ('{"bomFormat": "CycloneDX", "specVersion": "1.6", "components": {}}', "not CycloneDX"),
    ],
)
@pytest.mark.long
def test_bill_of_something_else_is_refused(text, complaint):
    """A library too few, another version, or not a bill at all."""
    with pytest.raises(SbomError, match=complaint):
        validate(text, LOCK)
