"""What the start-up probe makes of a replica. A page stands for it."""

import importlib.util
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.helm.charts import REPORTER


@pytest.fixture(name="probe", scope="module")
def _probe():
    path = REPORTER / "files" / "startup_probe.py"
    spec = importlib.util.spec_from_file_location("startup_probe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def serving(*statuses):
    """Answer with one status after the other, and with the last one from then on."""
    left = list(statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            assert self.path == "/readyz"
            self.send_response(left.pop(0) if len(left) > 1 else left[0])
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_waits_until_the_replica_is_ready(probe):
    """The readiness probe that comes right after it finds a replica that is ready."""
    with serving(503, 503, 200) as port:
        assert probe.started(port, 60)
        assert probe.status(port) == 200


def test_a_replica_that_cannot_be_ready_has_started(probe):
    """Where the API server is away, restarts would help nobody."""
    with serving(503) as port:
        assert probe.started(port, 0)


def test_nobody_listens(probe):
    """A process that hangs before it listens has not started."""
    with serving(200) as port:
        pass
    assert not probe.started(port, 0)
