"""`kubectl status-reporter`, by kubectl itself where there is one, against the sandbox."""

import json
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen
from xml.etree import ElementTree as ET

import pytest
import yaml

from reporter.cli.kubectl import PROGRAM, main
from reporter.cli.main import exit_status
from tests.unit.cli.plugin import Plugin, install, read_until, sandbox, served
from tests.unit.conftest import EXAMPLES

KAITO = "clusterKaitoControllerNotReady"


@pytest.fixture(name="bin_", scope="module")
def _bin(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bin")
    install(folder)
    return folder


@pytest.fixture(name="on", scope="module")
def _on(bin_, tmp_path_factory):
    """The plugin, on the broken or the healthy stack; nobody changes these."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("broken", "healthy")}
    with (
        sandbox(EXAMPLES / "broken-stack", folders["broken"]) as broken,
        sandbox(EXAMPLES / "healthy-stack", folders["healthy"]) as healthy,
    ):
        yield {
            "broken": Plugin(bin_, broken, folders["broken"]),
            "healthy": Plugin(bin_, healthy, folders["healthy"]),
        }


@pytest.fixture(name="ask")
def _ask(on, capsys, monkeypatch):
    """The plugin in this process, which spares its start; else as if it were called."""

    def ask(stack, *flags):
        monkeypatch.setenv("KUBECONFIG", on[stack].environment["KUBECONFIG"])
        with ThreadPoolExecutor(1) as thread:
            status = thread.submit(exit_status, partial(main, flags), PROGRAM).result()
        return subprocess.CompletedProcess(flags, status, *capsys.readouterr())

    return ask


@pytest.mark.parametrize(
    ("stack", "flags", "status"),
    [("healthy", [], 0), ("broken", [], 1), ("broken", ["-o", "yml"], 2)],
)
def test_it_runs_as_a_plugin(on, ask, stack, *, flags, status):
    """kubectl finds the executable, with the same status and output."""
    done, asked = on[stack](*flags), ask(stack, *flags)
    assert done.returncode == asked.returncode == status
    assert done.stderr == asked.stderr
    assert done.stdout.partition(" at ")[0] == asked.stdout.partition(" at ")[0]


@pytest.mark.parametrize(
    ("stack", "flags", "status"),
    [
        ("healthy", [], 0),
        ("broken", [], 1),
        ("broken", ["--fail-on", "warning"], 1),
        ("broken", ["--fail-on", "none"], 0),
        ("broken", ["-n", "search-models"], 1),
        ("broken", ["--explain", KAITO], 0),
        ("broken", ["--explain"], 0),
        ("broken", ["--explain", "nonsense"], 2),
        ("broken", ["--explain", KAITO, "-o", "junit"], 2),
        ("broken", ["--kubeconfig", "/nowhere"], 2),
        ("broken", ["--context", "nobody"], 2),
        ("healthy", ["-n", "search-model"], 2),
        ("broken", ["-o", "yml"], 2),
        ("broken", ["-o", "junit", "--watch"], 2),
        ("broken", ["--watchh"], 2),
    ],
)
def test_exit_status(ask, stack, flags, *, status):
    """1 if a Warning fires, unless told not to fail; 2 with one line if nothing could be judged."""
    done = ask(stack, *flags)
    assert done.returncode == status, done.stderr
    assert (done.stderr != "") == (status == 2)
    assert not done.stderr or done.stderr.startswith("kubectl status-reporter: ")
    assert done.stderr.count("\n") == (status == 2)


def test_a_namespace_alone_is_read(ask):
    """Faults of other namespaces and of shared components are left out; a note says so."""
    findings = json.loads(ask("broken", "-n", "search-models", "-o", "json").stdout)["findings"]
    subjects = {each["subject"] for each in findings}
    assert subjects == {"inferenceset/search-models/mistral-7b"}
    assert KAITO not in {each["reason"] for each in findings}
    assert "the cluster layer is unknown" in " ".join(
        ask("broken", "-n", "search-models").stdout.split()
    )


ATTRIBUTES = {
    "testsuites": set(),
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
    "testcase": {"classname", "name", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped"},
}
"""What the schema of Jenkins' JUnit plugin allows, of what is written here."""


def test_junit_is_what_pipelines_read(ask):
    """Elements and attributes of the schema, counts that are right, names that are unique."""
    root = ET.fromstring(ask("broken", "-o", "junit").stdout)
    for element in root.iter():
        assert set(element.keys()) == ATTRIBUTES[element.tag]
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
    (suite,) = root
    for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.get(key)) == len(suite.findall(f"testcase/{tag}"))
    assert int(suite.get("tests")) == len(suite)
    assert (suite.get("failures"), suite.get("skipped")) == ("4", "3")
    names = [(case.get("classname"), case.get("name")) for case in suite]
    assert len(names) == len(set(names))
    (skipped,) = suite.findall(
        "testcase[@classname='inferenceset/search-models/mistral-7b']/skipped"
    )
    assert skipped.get("message") == f"suppressed by {KAITO}: ImagePullBackOff"


@pytest.fixture(name="own")
def _own(bin_, tmp_path):
    """A healthy stack that a test may break."""
    with sandbox(EXAMPLES / "healthy-stack", tmp_path) as kubeconfig:
        yield Plugin(bin_, kubeconfig, tmp_path)


def _scale(plugin, replicas):
    """Scale the KAITO controller by a merge patch."""
    config = yaml.safe_load(Path(plugin.environment["KUBECONFIG"]).read_text())
    server = config["clusters"][0]["cluster"]["server"]
    url = f"{server}/apis/apps/v1/namespaces/kaito-system/deployments/kaito-workspace"
    body = json.dumps({"spec": {"replicas": replicas}}).encode()
    headers = {"Content-Type": "application/merge-patch+json"}
    with urlopen(Request(url, body, headers, method="PATCH")) as answer:
        assert answer.status == 200


@pytest.mark.long
def test_watch_tells_each_change_until_it_is_interrupted(own):
    """Printed again where there is no terminal; Ctrl-C is how it ends, hence status 0."""
    with own.running("--watch", output=subprocess.PIPE) as process:
        first = read_until(process.stdout.fileno(), "Nothing fires")
        assert KAITO not in first
        _scale(own, 0)
        then = read_until(process.stdout.fileno(), f"1 cause fires[^$]*{KAITO}")
        assert "\x1b" not in first + then
        _scale(own, 1)
        read_until(process.stdout.fileno(), "Nothing fires")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        assert process.stderr.read() == b""


@pytest.mark.long
def test_watch_does_not_take_a_lost_connection_for_health(bin_, tmp_path):
    """While the API server is away what was seen stands, and that it may be old is said, not printed."""
    with served(EXAMPLES / "broken-stack", tmp_path) as (server, kubeconfig):
        plugin = Plugin(bin_, kubeconfig, tmp_path)
        with plugin.running("-w", "-o", "events", output=subprocess.PIPE) as process:
            read_until(process.stdout.fileno(), f"LAST SEEN[^$]*{KAITO}")
            server.kill()
            read_until(process.stderr.fileno(), "The connection to the API server was lost: .*\n")
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 0
            again = process.stdout.read()
            assert b"No Events" not in again
            assert b"LAST SEEN" not in again
