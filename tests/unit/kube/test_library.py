"""What is imported of kubernetes_asyncio."""

import os
import subprocess
import sys
from importlib.metadata import version

import pytest

OURS = "from reporter.kube.credentials import library\nours = library()"
WHOLE = "from kubernetes_asyncio import client, config"
USED = {
    "Configuration": ("ours.configuration", "client.Configuration"),
    "RESTClientObject": ("ours.rest_client", "client.rest.RESTClientObject"),
    "load_incluster_config": ("ours.config.load_incluster_config", "config.load_incluster_config"),
    "load_kube_config": ("ours.config.load_kube_config", "config.load_kube_config"),
}


def run(code, *, check=True, path=""):
    paths = os.pathsep.join(filter(None, [str(path), *sys.path]))
    return subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}"],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=check,
    )


def output(code):
    return run(code).stdout.strip()


def test_the_generated_client_is_not_imported():
    modules = "print(len(sys.modules))"
    assert int(output(f"{WHOLE}\n{modules}")) - int(output(f"{OURS}\n{modules}")) > 700


def test_the_library_has_what_is_imported_where_it_is_looked_for():
    """An upgrade may move it; the daemon must get neither a leftover nor nothing."""
    pairs = ", ".join(f"({name!r}, {ours}, {whole})" for name, (ours, whole) in USED.items())
    moved = f"[name for name, *both in [{pairs}] if len({{each.__module__ for each in both}}) > 1]"
    compared = run(f"{OURS}\n{WHOLE}\nprint({moved})", check=False)
    if compared.stdout != "[]\n":
        found = compared.stdout.strip() or compared.stderr.splitlines()[-1]
        pytest.fail(
            f"kubernetes_asyncio {version('kubernetes_asyncio')} has moved what "
            f"reporter/kube/credentials.py imports; adapt it, or import the whole there: {found}",
            pytrace=False,
        )


def test_a_library_that_is_laid_out_otherwise_is_named(tmp_path):
    """Whoever installs without the lock file learns what does not fit, and what would."""
    folder = tmp_path / "kubernetes_asyncio" / "client"
    folder.mkdir(parents=True)
    for package in (folder.parent, folder):
        package.joinpath("__init__.py").touch()
    failed = run(OURS, check=False, path=tmp_path)
    assert failed.stderr.splitlines()[-1] == (
        "reporter.kube.errors.ConfigurationError: "
        f"kubernetes_asyncio {version('kubernetes_asyncio')} is not laid out as expected: "
        "No module named 'kubernetes_asyncio.client.configuration'; "
        "install the version that requirements.lock names"
    )
