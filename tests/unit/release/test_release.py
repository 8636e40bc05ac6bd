"""What a release is made of, as far as no network is needed; `make release-try` installs a whole one."""

import hashlib
import shutil
import subprocess
import tarfile
import tomllib

import pytest
import yaml

import reporter
from release import charts
from release.__main__ import ROOT, _compared
from release.archives import pack
from release.build import requirements, write_sums
from release.distributions import NotReleasedError, standing_alone
from release.image import Wanted, write_image

VERSION = reporter.__version__


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


def test_an_archive_tells_nothing_of_who_packed_it(tmp_path):
    """Times, owners and modes beyond the executable bit are the same everywhere."""
    packed = []
    for number, name in enumerate(("a", "b")):
        folder = tmp_path / name
        (folder / "below").mkdir(parents=True)
        (folder / "below" / "text").write_text("x")
        (folder / "below" / "text").chmod(0o600 if number else 0o664)
        pack(folder, tmp_path / f"{name}.tgz")
        packed.append((tmp_path / f"{name}.tgz").read_bytes())
    assert packed[0] == packed[1]
    with tarfile.open(tmp_path / "a.tgz") as tar:
        (member,) = tar
        assert (member.mtime, member.mode, member.uname) == (1_700_000_000, 0o644, "")


def test_the_laboratory_stands_alone():
    """Its sources name nothing outside of them that is needed to build its wheel."""
    text = standing_alone((ROOT / "lab" / "pyproject.toml").read_text())
    wheel = tomllib.loads(text)["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert "force-include" not in wheel
    assert "LICENSE" in wheel["only-include"]


def test_a_laboratory_that_is_written_otherwise_is_refused():
    with pytest.raises(NotReleasedError, match="not in the form"):
        standing_alone("[project]\n")


def test_the_chart_is_the_same_twice_and_helm_takes_it(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        charts.package_chart(tmp_path / name)
    first, second = sorted(tmp_path.glob("*/*.tgz"))
    assert first.read_bytes() == second.read_bytes()
    assert first.name == f"productionstack-status-reporter-{VERSION}.tgz"
    assert "kind: Deployment" in charts.helm("template", "x", str(first))


def test_the_alerts_are_a_file_of_rules(tmp_path):
    """All of the chart's, in the form that Prometheus reads without its operator."""
    charts.write_alerts(tmp_path / "rules.yaml")
    group, *served = yaml.safe_load((tmp_path / "rules.yaml").read_text())["groups"]
    named = {rule["alert"] for rule in group["rules"]}
    assert named >= {
        "StatusReporterClusterCause",
        "StatusReporterNobodyLeads",
        "StatusReporterMirrorsRefused",
        "StatusReporterStatusesRefused",
        "StatusReporterScrapesAllFail",
    }
    assert all(rule["expr"] and rule["annotations"]["summary"] for rule in group["rules"])
    assert all(rule["record"] and rule["expr"] for each in served for rule in each["rules"])


def test_the_lock_of_a_release_names_its_wheels_and_the_libraries(tmp_path):
    """Both wheels with their hashes, found next to it; then what was tested, as it is locked."""
    for name in ("productionstack_status_reporter", "productionstack_status_reporter_lab"):
        (tmp_path / f"{name}-{VERSION}-py3-none-any.whl").write_text("x")
    head, lab, *rest = requirements(tmp_path).split("\n", maxsplit=3)[0:4]
    digest = hashlib.sha256(b"x").hexdigest()
    assert head == "--find-links ."
    assert lab == f"productionstack-status-reporter=={VERSION} --hash=sha256:{digest}"
    assert rest[0] == f"productionstack-status-reporter-lab=={VERSION} --hash=sha256:{digest}"
    assert rest[1] == (ROOT / "requirements.lock").read_text()


def test_checksums_are_what_sha256sum_checks(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    write_sums(tmp_path)
    check = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    assert subprocess.run(check, cwd=tmp_path, check=False, capture_output=True).returncode == 0
    (tmp_path / "b").write_text("c")
    assert subprocess.run(check, cwd=tmp_path, check=False, capture_output=True).returncode == 1


def test_two_builds_that_differ_are_told_apart(tmp_path, capsys):
    for name, text in (("one", "x"), ("other", "y")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same").write_text("same")
        (tmp_path / name / "file").write_text(text)
        write_sums(tmp_path / name)
    assert _compared(tmp_path / "one", tmp_path / "other") == 1
    assert capsys.readouterr().err == "release: built twice, not the same: file\n"
    shutil.copytree(tmp_path / "one", tmp_path / "again")
    assert _compared(tmp_path / "one", tmp_path / "again") == 0


def image(to, *, wanted, engine=""):
    return write_image(to, wanted=wanted, engine=engine, flags="", commit="0")


def test_an_image_that_cannot_be_built_is_left_out_and_said(tmp_path, monkeypatch):
    """Without an engine there is a release all the same, unless an image is required."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "neither podman nor docker" in image(tmp_path / "x", wanted=Wanted.AUTO)
    with pytest.raises(NotReleasedError, match="neither podman nor docker"):
        image(tmp_path / "x", wanted=Wanted.REQUIRED)
    assert not (tmp_path / "x").exists()


def test_a_base_image_that_cannot_be_had_is_named(tmp_path, monkeypatch):
    engine = tmp_path / "podman"
    engine.write_text('#!/bin/sh\n[ "$1" = info ]\n')
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(NotReleasedError, match=r"no base image python:3\.11\S+ and cannot pull it"):
        image(tmp_path / "x", wanted=Wanted.REQUIRED, engine="podman")


def test_all_that_carries_the_version_carries_the_same():
    """Program, laboratory, charts and changelog are released together."""
    chart = yaml.safe_load((charts.CHART / "Chart.yaml").read_text())
    umbrella = yaml.safe_load((ROOT / "helm/productionstack/Chart.yaml").read_text())
    versions = {chart["version"], chart["appVersion"], umbrella["version"]}
    versions |= {each["version"] for each in umbrella["dependencies"]}
    assert versions == {VERSION}
    assert f"\n## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()
