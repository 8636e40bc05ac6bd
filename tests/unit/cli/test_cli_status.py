import io
import json
import re
from contextlib import redirect_stdout
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import httpx
import pytest
import respx

from reporter.cli.main import main

URL = "http://127.0.0.1:8082"


@pytest.fixture
def daemon():
    with respx.mock(assert_all_called=False) as router:
        yield router


@pytest.fixture(scope="module")
def served(examples):
    """What a daemon would serve of a broken stack."""
    with redirect_stdout(io.StringIO()) as out:
        main(["check", str(examples / "broken-stack"), "-o", "json"])
    return out.getvalue()


@pytest.mark.parametrize("url", [URL, "http://localhost:1234"])
def test_json_is_printed_as_it_comes(run, daemon, served, url):
    """The daemon decides what the report says; this command only shows it."""
    daemon.get(f"{url}/api/v1/report").respond(text=served)
    assert run("status", "--url", f"{url}/", "-o", "json") == (1, served, "")


@pytest.mark.parametrize("output", ["text", "yaml", "events", "junit"])
def test_it_prints_what_check_prints(run, daemon, served, broken, output):
    """One command line: the same formats, and the same exit status."""
    daemon.get(f"{URL}/api/v1/report").respond(text=served)
    asked, checked = run("status", "-o", output), run("check", broken, "-o", output)
    assert (asked[0], asked[2]) == (checked[0], checked[2]) == (1, "")
    # The time is the daemon's.
    assert _without(asked[1]) == _without(checked[1])


def _without(text):
    return re.sub(r"\(the (daemon|newest time in the dump)\)", "", text)


def test_one_namespace_of_what_a_daemon_sees(run, daemon, served):
    """The faults there, and those of the cluster, which may be behind them."""
    daemon.get(f"{URL}/api/v1/report").respond(text=served)
    document = json.loads(run("status", "-n", "search-models", "-o", "json")[1])
    assert {each["subject"] for each in document["findings"]} == {
        "cluster",
        "inferenceset/search-models/mistral-7b",
    }
    assert {each["reason"] for each in document["events"]} == {
        "clusterCRDMissing",
        "clusterKaitoControllerNotReady",
    }
    status, out, err = run("status", "-n", "search-model")
    assert (status, out) == (2, "")
    assert "knows of no model in namespace search-model" in err


def test_a_reason_of_another_version_is_shown(run, daemon, served):
    text = served.replace("clusterKaitoControllerNotReady", "clusterNewNotReady")
    daemon.get(f"{URL}/api/v1/report").respond(text=text)
    status, out, err = run("status")
    assert (status, err) == (1, "")
    assert "clusterNewNotReady  cluster  for 18m" in out


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--from", "dump.tgz"], "to check a dump: status-reporter check dump.tgz"),
        (["--pod", "a/b", "-o", "junit"], "-o junit is for reports"),
        (["-A", "-n", "x"], "contradict"),
        (["-o", "html", "-w"], "-o html is one document"),
        (["--fail-on", "cause,none"], "allowed: one or more of cause, notice, unknown, none"),
    ],
)
def test_what_status_cannot_do_says_what_to_write(run, daemon, argv, says):
    status, out, err = run("status", *argv)
    assert (status, out) == (2, "")
    assert says in err
    assert not daemon.calls


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (httpx.Response(503, text="No pass has ended yet."), "No pass has ended yet.); ask again"),
        (httpx.Response(404, text="<html>\x1b[31m"), "it answers 404"),
        (httpx.Response(302, headers={"location": "http://elsewhere"}), "it answers 302"),
        (httpx.ConnectError("refused"), "nothing answers there"),
        (httpx.ReadTimeout("slow"), "no answer in time"),
        (httpx.RemoteProtocolError("odd"), "odd"),
    ],
)
def test_failures_say_what_to_do(run, daemon, answer, *, says):
    """A daemon that is not there, not ready or no daemon is told in one clean line."""
    route = daemon.get(f"{URL}/api/v1/report")
    if isinstance(answer, Exception):
        route.mock(side_effect=answer)
    else:
        route.mock(return_value=answer)
    status, out, err = run("status")
    assert (status, out) == (2, "")
    assert says in err
    assert "\x1b" not in err
    assert err.count("\n") == 1


ODD = {
    "a time without a zone": ("now", "2026-11-20T12:00:00"),
    "a time before the calendar": ("now", "0001-01-01T00:00:00Z"),
    "no list": ("events", 3),
    "no objects": ("derived", ["a"]),
}


@pytest.mark.parametrize(("key", "value"), ODD.values(), ids=ODD)
def test_an_answer_that_is_no_report_is_one_line(run, daemon, served, key, value):
    """Who answers at an address may be anybody."""
    text = json.dumps({**json.loads(served), key: value})
    daemon.get(f"{URL}/api/v1/report").respond(text=text)
    status, out, err = run("status", "-n", "search-models", "-o", "json")
    assert (status, out) == (2, "")
    assert "the answer is not a report" in err
    assert err.count("\n") == 1


def test_what_a_daemon_says_of_a_pod_does_not_write_on_the_terminal(run, daemon):
    daemon.get(f"{URL}/pods/a/b").respond(content=b"\x1b]0;title\x07 \xff\n")
    assert run("status", "--pod", "a/b")[1] == "\\u001b]0;title\\u0007 \ufffd\n"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_proxy_is_not_asked_for_this_machine(run, served, monkeypatch, host):
    """It could not reach a daemon or a forwarded port here."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")

    class Daemon(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(served.encode())

        def log_message(self, *_):
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Daemon) as server:
        server.timeout = 30
        thread = Thread(target=server.handle_request)
        thread.start()
        status, out, err = run(
            "status", "--url", f"http://{host}:{server.server_port}", "-o", "json"
        )
        thread.join()
    assert (status, out, err) == (1, served, "")


@pytest.mark.parametrize(("output", "path"), [("text", "/pods/"), ("json", "/api/v1/pods/")])
def test_a_pod_is_asked_for_by_namespace_and_name(run, daemon, output, *, path):
    daemon.get(f"{URL}{path}models/phi-0").respond(text="what was scraped\n")
    assert run("status", "--pod", "models/phi-0", "-o", output) == (0, "what was scraped\n", "")


def test_a_pod_that_was_not_scraped_is_one_line(run, daemon):
    daemon.get(f"{URL}/pods/models/phi-0").respond(404, text="this pod was not scraped\n")
    status, out, err = run("status", "--pod", "models/phi-0")
    assert (status, out) == (2, "")
    assert err.endswith("models/phi-0: this pod was not scraped\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize("pod", ["phi-0", "models/", "/phi-0", "models/a/b", "models/../x", "M/p"])
def test_a_pod_is_namespace_and_name(run, daemon, pod):
    """Nothing else of the daemon can be asked for."""
    status, _, err = run("status", "--pod", pod)
    assert status == 2
    assert "allowed: NAMESPACE/NAME" in err
    assert not daemon.calls
