"""What `helm test` finds wrong. A page stands for each replica."""

import importlib.util
import socket
import threading
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.daemon.replica import free_port
from tests.helm.charts import REPORTER

NOW, LATE = 1_800_000_000.0, 180.0


@pytest.fixture(name="module")
def _module(monkeypatch):
    path = REPORTER / "files" / "helm_test.py"
    spec = importlib.util.spec_from_file_location("helm_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.time, "time", lambda: NOW)
    return module


@contextmanager
def serving(address, port, status, page):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_):
            pass

    with HTTPServer((address, port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield
        server.shutdown()
        thread.join()


def page(*, leads: bool = False, age: float = 1.0, unknown: int = 0) -> str:
    return (
        "# HELP status_reporter_leader 1 while this replica holds the lease.\n"
        f"status_reporter_leader {float(leads)}\n"
        f"status_reporter_last_pass_timestamp_seconds {NOW - age}\n"
        'status_reporter_objects{resource="a b"} 3.0\n'
        f"status_reporter_resources_unknown {float(unknown)}\n"
    )


@pytest.mark.parametrize(
    ("pages", "wrong"),
    [
        ([page(leads=True), page()], []),
        ([page(leads=True)], []),
        ([page(), page()], ["0 of 2 replica(s) lead"]),
        ([page(leads=True), page(leads=True)], ["2 of 2 replica(s) lead"]),
        ([page(leads=True), page(age=181)], ["127.0.0.2: no pass in the last 180 s"]),
        ([page(leads=True, unknown=2)], ["127.0.0.1: cannot read 2 resource(s); see clusterStatusUnknown"]),
        ([""], ["127.0.0.1: no pass in the last 180 s", "0 of 1 replica(s) lead"]),
        ([page(leads=True), None], ["127.0.0.2: /metrics answers 500"]),
    ],
)  # fmt: skip
def test_what_a_replica_says_is_judged(module, monkeypatch, pages, *, wrong):
    """Every replica is asked, and each fault is told with its address."""
    port = free_port()
    addresses = [f"127.0.0.{number}" for number in range(1, len(pages) + 1)]
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]
    resolve = {("service", port): found}
    real = socket.getaddrinfo
    monkeypatch.setattr(
        module.socket,
        "getaddrinfo",
        lambda *asked, **how: resolve.get(asked[:2]) or real(*asked, **how),
    )
    with ExitStack() as stack:
        for address, text in zip(addresses, pages, strict=True):
            stack.enter_context(
                serving(address, port, 200 if text is not None else 500, text or "")
            )
        assert module.complaints("service", port, LATE) == wrong


def test_a_service_without_replicas_is_told(module, monkeypatch):
    """A headless Service without ready pods has no addresses at all."""

    def unresolved(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(module.socket, "getaddrinfo", unresolved)
    (said,) = module.complaints("prod-metrics", 8080, LATE)
    assert said.startswith("prod-metrics: ")
    assert said.endswith("is any replica ready?")


def test_a_replica_that_does_not_answer_is_told(module, monkeypatch):
    """What resolves may be gone already."""
    monkeypatch.setattr(module, "replicas", lambda *_: ["127.0.0.1"])
    said = module.complaints("service", free_port(), LATE)
    assert said[0].startswith("127.0.0.1: ")


def test_it_asks_again_for_a_minute_and_then_fails(module, monkeypatch, capsys):
    """Right after an installation nobody may lead yet; later that is a failure."""
    answers = iter([["0 of 2 replica(s) lead"], []])
    monkeypatch.setattr(module, "complaints", lambda *_: next(answers))
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    monkeypatch.setattr(module.sys, "argv", ["test", "service", "8080", "180"])
    assert module.main() == 0

    clock = iter([0.0, 59.0, 61.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(module, "complaints", lambda *_: ["0 of 2 replica(s) lead"])
    assert module.main() == 1
    assert capsys.readouterr().err == "0 of 2 replica(s) lead\n"
