"""Several clusters side by side, each judged alone."""

import json
import re
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.unit.cli.plugin import sandbox
from tests.unit.conftest import EXAMPLES

NOBODY = "http://127.0.0.1:1"
"""An address where nothing listens."""


@pytest.fixture(name="servers", scope="module")
def _servers(tmp_path_factory):
    folders = {name: tmp_path_factory.mktemp(name) for name in ("broken", "healthy")}
    with (
        sandbox(EXAMPLES / "broken-stack", folders["broken"]) as broken,
        sandbox(EXAMPLES / "healthy-stack", folders["healthy"]) as healthy,
    ):
        configs = {"broken": broken, "healthy": healthy}
        servers = {name: yaml.safe_load(path.read_text()) for name, path in configs.items()}
        yield {
            **{name: each["clusters"][0]["cluster"]["server"] for name, each in servers.items()},
            "away": NOBODY,
        }


@pytest.fixture(name="ask")
def _ask(run, servers, tmp_path, monkeypatch):
    """Look with a kubeconfig that has these contexts."""

    def ask(*flags, contexts=("broken", "healthy", "away")):
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "users": [{"name": "u", "user": {}}],
            "clusters": [{"name": c, "cluster": {"server": servers[c]}} for c in contexts],
            "contexts": [{"name": c, "context": {"cluster": c, "user": "u"}} for c in contexts],
            "current-context": contexts[0],
        }
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        monkeypatch.setenv("KUBECONFIG", str(path))
        return run("check", *flags)

    return ask


def test_each_cluster_is_a_row_and_one_that_is_away_is_not_the_end(ask):
    """A cause somewhere is 1; what could not be judged is named with its fault."""
    status, out, err = ask("--all-contexts")
    assert (status, err) == (1, "")
    rows = [re.split(r"  +", line.strip()) for line in out.splitlines()]
    assert rows[0] == ["CONTEXT", "VERDICT", "MODELS", "FIRST CAUSE"]
    assert rows[1] == ["broken", "4 causes fire", "2 not serving, 2 degraded, 1 idle", "clusterKaitoControllerNotReady cluster"]  # fmt: skip
    assert rows[2] == ["healthy", "Nothing fires", "4 serving, 1 idle"]
    assert rows[3] == ["away", "no verdict"]
    assert f"{NOBODY}: GET /version: cannot connect" in " ".join(out.split())


@pytest.mark.parametrize(
    ("contexts", "flags", "status"),
    [
        (("healthy",), [], 0),
        (("healthy", "away"), [], 2),
        (("healthy", "broken"), [], 1),
        (("broken", "healthy"), ["--fail-on", "none"], 0),
        (("broken", "away"), ["--fail-on", "none"], 2),
    ],
)
def test_exit_status_for_all(ask, contexts, flags, status):
    """1 if something fires in any, else 2 if one could not be judged."""
    assert ask("--all-contexts", *flags, contexts=contexts)[0] == status


def test_some_contexts_are_named_with_commas(ask):
    """In the order that was asked for; one with a comma in its name stays one."""
    status, out, _ = ask("--context", "healthy,broken", "-o", "json")
    assert status == 1
    items = json.loads(out)["items"]
    assert [each["context"] for each in items] == ["healthy", "broken"]
    assert [len(each["report"]["findings"]) > 0 for each in items] == [False, True]


def test_formats_for_machines_name_the_context(ask):
    """As a label, as the name of a suite, as a key."""
    flags = ("--context", "healthy,away", "-o")
    _, metrics, _ = ask(*flags, "prometheus")
    assert 'status_reporter_check_success{context="healthy"} 1' in metrics
    assert 'status_reporter_check_success{context="away"} 0' in metrics
    _, text, _ = ask(*flags, "junit")
    suites = {each.get("name"): each.get("errors") for each in ET.fromstring(text)}
    assert suites == {"status-reporter healthy": "0", "status-reporter away": "1"}
    _, text, _ = ask(*flags, "yaml")
    healthy, away = yaml.safe_load(text)["items"]
    assert healthy["report"]["kind"] == "Report"
    assert "cannot connect" in away["error"]
    _, text, _ = ask(*flags, "wide")
    assert "context healthy\nNo findings." in text


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--context", "healthy,helthy"], "there is no helthy in the kubeconfig; it has broken, healthy, away"),
        (["--context", "healthy", "--all-contexts"], "contradict"),
        (["--all-contexts", "-w"], "-w is about one cluster"),
        (["--all-contexts", "-o", "html"], "-o html is about one cluster"),
        (["--all-contexts", "--from", "x"], "a dump has no contexts"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_says_what_to_write(ask, flags, says):
    """One line, and status 2."""
    status, out, err = ask(*flags)
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
