import httpx
import pytest
import respx

URL = "http://127.0.0.1:8082"


@pytest.fixture
def daemon():
    with respx.mock(assert_all_called=False) as router:
        yield router


@pytest.mark.parametrize(
    ("argv", "asked"),
    [
        ([], f"{URL}/"),
        (["-o", "text"], f"{URL}/"),
        (["-o", "json"], f"{URL}/api/v1/report"),
        (["--url", "http://localhost:1234/", "-o", "json"], "http://localhost:1234/api/v1/report"),
    ],
)
def test_the_report_is_printed_as_it_comes(run, daemon, argv, *, asked):
    """The daemon decides what the report says; this command only shows it."""
    daemon.get(asked).respond(text="the report: \u00fc\n")
    assert run("status", *argv) == (0, "the report: \u00fc\n", "")


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
    route = daemon.get(f"{URL}/")
    if isinstance(answer, Exception):
        route.mock(side_effect=answer)
    else:
        route.mock(return_value=answer)
    status, out, err = run("status")
    assert (status, out) == (2, "")
    assert says in err
    assert "\x1b" not in err
    assert err.count("\n") == 1


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
