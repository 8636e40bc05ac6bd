"""What Tab offers: to shells by their scripts, and to kubectl."""

import asyncio
import os
import shutil
import subprocess
import sys

import pytest

from lab.sandbox.controllers import running
from reporter.cli.completion import SHELLS
from tests.unit.cli.plugin import ROOT


def offered(run, *words):
    status, out, err = run("__complete", *words)
    assert (status, err) == (0, "")
    *lines, directive = out.splitlines()
    return [line.partition("\t")[0] for line in lines], directive


@pytest.mark.parametrize(
    ("words", "some", "directive"),
    [
        (["ch"], ["check"], ":4"),
        (["check", "--out"], ["--output"], ":4"),
        (["check", "-o", "j"], ["json", "junit"], ":4"),
        (["check", "--output=j"], ["--output=json", "--output=junit"], ":4"),
        (["check", "--fail-on", ""], ["cause", "notice", "unknown", "none"], ":4"),
        (["check", ""], [], ":0"),
        (["check", "--from", "ex"], [], ":0"),
        (["check", "--scrape-v"], ["--scrape-via"], ":4"),
        (["check", "--scrape-via", "ap"], ["apiserver-proxy"], ":4"),
        (["explain", "clusterKe"], ["clusterKedaNotReady", "clusterKedaKaitoScalerNotReady"], ":4"),
        (["check", "--components", "keda-"], ["keda-scaler=auto", "keda-scaler=on", "keda-scaler=off"], ":4"),
        (
            ["check", "--components=bbr=off,ist"],
            [
                "--components=bbr=off,istio=auto",
                "--components=bbr=off,istio=on",
                "--components=bbr=off,istio=off",
            ],
            ":4",
        ),
        (["check", "--disable-reasons", "clusterKeda"], ["clusterKedaNotReady", "clusterKedaKaitoScalerNotReady"], ":4"),
        (["check", "--grace", "clusterBBR"], ["clusterBBRNotReady="], ":4"),
        (["check", "--grace", "node-"], ["node-boot="], ":4"),
        (["completion", ""], list(SHELLS), ":4"),
        (["demo", "--scenario", "r"], ["runtime"], ":4"),
        (["status", "--p"], ["--pod"], ":4"),
        (["run", "--leader-elect-"], [], ":4"),
        (["nonsense", ""], [], ":0"),
    ],
)  # fmt: skip
def test_what_is_offered(run, words, some, *, directive):
    """Commands, flags, their values; file names where a file is meant."""
    assert offered(run, *words) == (some, directive)


def test_contexts_are_those_of_the_kubeconfig(run, tmp_path, monkeypatch):
    """Without one there is nothing to offer, and no error in the middle of a line."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    assert offered(run, "check", "--context", "") == ([], ":4")
    (tmp_path / "config").write_text("contexts: [{name: prod-eu}, {name: prod-us}, {name: lab}]")
    assert offered(run, "check", "--context", "prod") == (["prod-eu", "prod-us"], ":4")


async def test_namespaces_are_those_of_the_cluster(run, tmp_path, monkeypatch):
    """Of the context that is being typed; of one that does not answer there are none."""
    config = tmp_path / "config"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "chat-models"}}
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    async with running([namespace], kubeconfig_path=config):
        asked = ("check", "--kubeconfig", str(config), "-n", "cha")
        assert await asyncio.to_thread(offered, run, *asked) == (["chat-models"], ":4")
    assert await asyncio.to_thread(offered, run, "check", "-n", "") == ([], ":4")


@pytest.fixture(name="programs")
def _programs(tmp_path):
    """The executables as pip makes them, on PATH."""
    for name, function in (
        ("status-reporter", "main"),
        ("kubectl-status_reporter", "plugin"),
        ("kubectl_complete-status_reporter", "plugin_completion"),
    ):
        program = tmp_path / name
        program.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
            f"from reporter.entry import {function}\nsys.exit({function}())\n"
        )
        program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def _said(command, environment):
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def test_bash(programs):
    """As bash itself asks: words and the place of the one that is typed."""
    script = (
        "source <(status-reporter completion bash)\n"
        "COMP_WORDS=(status-reporter check -o j); COMP_CWORD=3\n"
        '_status_reporter; echo "${COMPREPLY[@]}"\n'
    )
    assert _said(["bash", "-c", script], programs) == "json junit\n"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_read_their_script(run, shell):
    script = run("completion", shell)[1]
    assert "status-reporter __complete" in script
    if program := shutil.which(shell):
        subprocess.run([program, "-n", "-c", script], check=True, timeout=60)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_asks_for_its_plugin(programs):
    """By the executable kubectl_complete-status_reporter, in kubectl's own protocol."""
    out = _said(["kubectl", "__complete", "status-reporter", "--fail-on", "n"], programs)
    assert out.splitlines()[:2] == ["notice", "none"]
