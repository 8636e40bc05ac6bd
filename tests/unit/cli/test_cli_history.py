"""`status-reporter history`: the last day of a daemon, as text and as JSON."""

import json
from datetime import timedelta

import pytest
import respx
from msgspec.structs import replace

from reporter.model.report import Impact
from reporter.sinks.history import EpisodeHistory
from tests.unit.sinks.page.reports import KAITO, NOW, PODS, finding, later, model
from tests.unit.sinks.test_history import change, kaito

URL = "http://127.0.0.1:8082"


@pytest.fixture(scope="module")
def served():
    """A day on which KAITO was down for two minutes, and a model is down since."""
    pods = replace(finding(PODS, model("a")), since=NOW + timedelta(seconds=7000))
    reports = [
        (later(60, kaito(impact=Impact(3, 0, 1))), ()),
        (later(120), [change(100)]),
        (later(7200, pods), ()),
    ]
    history = EpisodeHistory()
    for report, changes in reports:
        history = history.after(report, changes)
    return history.json(NOW + timedelta(seconds=7200))


@pytest.fixture(autouse=True)
def daemon(served):
    with respx.mock(assert_all_called=False) as router:
        router.get(f"{URL}/api/v1/history").respond(content=served)
        yield router


def told(run, *arguments):
    status, out, _ = run("history", "-o", "json", *arguments)
    assert status == 0
    return [each["reason"] for each in json.loads(out)["episodes"]]


@pytest.mark.parametrize(
    ("arguments", "reasons"),
    [
        ((), [PODS, KAITO]),
        (("--since", "1h"), [PODS]),
        (("--since", "2h"), [PODS, KAITO]),
        (("-n", "chat-models"), [PODS]),
        (("cluster",), [KAITO]),
        ((PODS,), [PODS]),
        (("a",), [PODS]),
        ((str(model("a")),), [PODS]),
        (("nothing",), []),
    ],
)
def test_it_shows_what_is_asked_for(run, arguments, reasons):
    """The newest first; by time, namespace, subject, name or reason."""
    namespace = model("a").namespace
    asked = [namespace if each == "chat-models" else each for each in arguments]
    assert told(run, *asked) == reasons


def test_the_text_tells_the_story(run):
    """When, what, whom it hit, what ended it, and a link."""
    status, out, _ = run("history", "cluster")
    assert status == 0
    first, _, line, *rest = out.splitlines()
    assert first.startswith("1 episode; this daemon has watched since 2026-11-20T12:01:00Z")
    assert line == f"12:00:00 to 12:02:00 (2m)  {KAITO}  cluster"
    assert "    Impact at worst: 3 models do not serve" in rest
    assert "    Ended after: spec.replicas 0 to 1 by kubectl-scale at 12:01:40Z" in rest
    assert rest[-1].startswith(f"    {URL}/?all#e-")


def test_a_span_that_is_none_is_refused(run):
    status, _, err = run("history", "--since", "yesterday")
    assert status == 2
    assert "'yesterday' is not allowed; allowed: such as 30m, 2h, 1d" in err
