"""The manifest for krew by the rules of krew's own validation, and what a release makes of it."""

import hashlib
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from release import krew
from release.archives import pack
from reporter import __version__
from tests.unit.cli.plugin import NAME, ROOT

HERE = ROOT / "packaging" / "krew"
PLACEHOLDERS = (HERE / "status-reporter.yaml").read_text()
SHA = hashlib.sha256(b"archive").hexdigest()


@pytest.fixture(name="filled")
def _filled():
    return krew.filled(
        PLACEHOLDERS,
        version=__version__,
        homepage="https://d.example/v1",
        platforms=[
            krew.Platform(arch, f"https://d.example/v1/{arch}.tar.gz", SHA)
            for arch in ("amd64", "arm64")
        ],
    )


def faults(text: str) -> list[str]:
    """Return what krew would refuse (internal/index/validation in its source)."""
    plugin = yaml.safe_load(text)
    spec = plugin["spec"]
    rules = {
        "apiVersion": plugin["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2",
        "kind": plugin["kind"] == "Plugin",
        "name": re.fullmatch(r"[\w-]+", plugin["metadata"]["name"]),
        "version": re.fullmatch(r"v\d+\.\d+\.\d+(-[\w.-]+)?(\+[\w.-]+)?", spec["version"]),
        "shortDescription": spec["shortDescription"] and len(spec["shortDescription"]) <= 50,
        "platforms": spec["platforms"],
        "keys": spec.keys()
        <= {*("version", "shortDescription", "description", "caveats", "homepage", "platforms")},
    }
    for platform in spec["platforms"]:
        rules |= {
            "selector": set(platform["selector"]["matchLabels"]) == {"os", "arch"},
            "uri": urlsplit(platform["uri"]).scheme == "https",
            "sha256": re.fullmatch(r"[0-9a-f]{64}", platform["sha256"]),
            "bin": platform["bin"] and ".." not in platform["bin"],
            "platform": platform.keys() == {"selector", "uri", "sha256", "bin"},
        }
    return [name for name, holds in rules.items() if not holds]


def test_the_manifest_is_valid_with_placeholders_and_filled_in(filled):
    assert faults(PLACEHOLDERS) == faults(filled) == []


def test_placeholders_can_never_be_installed():
    (platform,) = yaml.safe_load(PLACEHOLDERS)["spec"]["platforms"]
    assert urlsplit(platform["uri"]).hostname.endswith(".invalid")
    assert set(platform["sha256"]) == {"0"}


def test_a_release_fills_in_everything(filled):
    spec = yaml.safe_load(filled)["spec"]
    assert (spec["version"], spec["homepage"]) == (f"v{__version__}", "https://d.example/v1")
    for platform, arch in zip(spec["platforms"], ("amd64", "arm64"), strict=True):
        assert platform["uri"] == f"https://d.example/v1/{arch}.tar.gz"
        assert platform["sha256"] == SHA
        assert platform["selector"]["matchLabels"] == {"os": "linux", "arch": arch}
    assert "invalid" not in filled
    assert "placeholder" not in filled


def test_the_executable_is_the_one_that_kubectl_looks_for():
    (platform,) = yaml.safe_load(PLACEHOLDERS)["spec"]["platforms"]
    assert platform["bin"] == krew.BIN == NAME


def test_the_same_files_make_the_same_archive(tmp_path):
    made = []
    for name in ("a", "b"):
        folder = tmp_path / name
        (folder / "lib").mkdir(parents=True)
        (folder / "lib" / "x.py").write_text("x = 1\n")
        (folder / NAME).write_text("#!/bin/sh\n")
        (folder / NAME).chmod(0o755)
        os.utime(folder / NAME, (len(made), len(made)))
        pack(folder, tmp_path / f"{name}.tar.gz")
        made.append((tmp_path / f"{name}.tar.gz").read_bytes())
    assert made[0] == made[1]
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        assert {each.name: each.mode & 0o111 for each in tar}[NAME] == 0o111


def launcher(tmp_path: Path, version: str) -> Path:
    """Put the launcher into a store and link to it, as krew does."""
    store = tmp_path / "store" / "v1"
    store.mkdir(parents=True)
    program = store / NAME
    program.write_text((HERE / "launcher.sh").read_text().replace("@PYTHON@", version))
    program.chmod(0o755)
    (store / "lib").symlink_to(ROOT)
    link = tmp_path / NAME
    link.symlink_to(program)
    return link


def launch(link: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    own = tmp_path / "bin"
    own.mkdir()
    # The interpreter of the tests, under the names that are looked for.
    for name in ("python3", f"python{sys.version_info.major}.{sys.version_info.minor}"):
        (own / name).write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        (own / name).chmod(0o755)
    environment = {"PATH": f"{own}:/usr/bin:/bin", "HOME": str(tmp_path)}
    return subprocess.run(
        [link, "--explain", "clusterBBRNotReady"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


def test_the_launcher_finds_its_libraries_through_krews_link(tmp_path):
    done = launch(launcher(tmp_path, krew.PYTHON), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Raised when:" in done.stdout


def test_the_launcher_says_which_python_it_needs(tmp_path):
    done = launch(launcher(tmp_path, "3.99"), tmp_path)
    assert done.returncode == 2
    assert done.stderr == "kubectl status-reporter: needs Python 3.99 on PATH\n"
