"""What answers in place of a daemon: `status` and `history` ask whatever address they are given."""

import asyncio
import gzip
import json
import threading
from argparse import Namespace
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from types import MappingProxyType

from mcp.server.mcpserver.exceptions import ToolError

from reporter.cli.assistant import Tools
from reporter.cli.main import main
from reporter.model.subject import Layer
from reporter.model.text import has_unseen
from tests.attacks.attack import Outcome, attack, attacks, program
from tests.attacks.outputs import SIGNS

_MIB = 2**20
_BEGIN = b'{"kind": "Report", "now": "2026-11-20T12:00:00Z", "findings": [], "x": ['
_TWICE = {"Content-Encoding": "gzip, gzip"}


def _blanks():
    """Two hundred MiB, in a kilobyte."""
    return gzip.compress(gzip.compress(b" " * (200 * _MIB)))


ANSWERS = {
    "compressed twice": (_TWICE, _blanks),
    "empty lists": ({}, lambda: _BEGIN + b"[]," * (20 * _MIB) + b"0]}"),
    "brackets": ({}, lambda: b"[" * (4 * _MIB)),
    "a number of a million digits": ({}, lambda: _BEGIN + b"9" * _MIB + b"]}"),
    "no end": ({"Content-Length": f"{2**40}"}, lambda: b" " * (70 * _MIB)),
}


@contextmanager
def _daemon(body, headers=MappingProxyType({})):
    """Yield the address of what answers everything with a body."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            for name, value in {"Content-Length": f"{len(body)}", **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                return

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@attacks(ANSWERS)
def _(_folder, row):
    headers, make = row
    with _daemon(make(), headers) as url:
        ran = [program(each, "--url", url, seconds=20) for each in ("status", "history")]
    held = all(each.status == 2 and not each.failed and each.mebibytes < 400 for each in ran)
    most = max(each.mebibytes for each in ran)
    return Outcome(held=held, figure=f"at most {most:.0f} MiB: {ran[0].err.strip()[-90:]}")


_WORDS = {
    "kind",
    "lastTimestamp",
    "now",
    "since",
    "disposition",
    "layer",
    "type",
    "severity",
    "state",
}
_FINDING = {
    "reason": "x", "layer": str(Layer.DEPLOYMENT), "type": "Warning", "subject": "workload/a/b", "disposition": "firing",
    "since": "2026-11-20T11:00:00Z", "message": "m", "cause": "c", "primary": True, "severity": "critical",
    "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "a", "name": "b"},
    "related": {"apiVersion": "v1", "kind": "Pod", "namespace": "a", "name": "b"}, "commands": ["kubectl get pods"],
}  # fmt: skip
_REPORT = {
    "kind": "Report", "now": "2026-11-20T12:00:00Z", "findings": [_FINDING],
    "subjects": [{"subject": "workload/a/b", "state": "not-serving", "since": "2026-11-20T11:00:00Z", "cause": "x"}],
    "events": [{
        "metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "b"}, "type": "Warning", "reason": "x",
        "message": "m", "lastTimestamp": "2026-11-20T11:00:00Z",
    }],
    "unknown": [{"resource": "pods", "cause": "forbidden", "permission": "list"}],
}  # fmt: skip


def _signed(value, sign, key=""):
    if isinstance(value, dict):
        return {name: _signed(each, sign, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_signed(each, sign, key) for each in value]
    return value + sign if isinstance(value, str) and key not in _WORDS else value


_VALID = {name: sign for name, sign in SIGNS.items() if "\ud800" not in sign}


@attacks({f"{name} in every text of a report": sign for name, sign in _VALID.items()})
def _(_folder, sign):
    with _daemon(json.dumps(_signed(_REPORT, sign)).encode()) as url:
        raw = []
        for form in ("text", "json", "yaml", "events", "junit", "html"):
            out, err = StringIO(), StringIO()
            with redirect_stdout(out), redirect_stderr(err):
                status = main(["status", "--url", url, "-o", form])
            said = out.getvalue() + err.getvalue()
            if status != 1 or has_unseen(said) or any(each in said for each in "\x1b\r\x07"):
                raw.append(f"{form} ({status}): {said[-200:]!r}")
    return Outcome(held=not raw, figure=f"raw: {raw or 'in no format'}")


@attacks(
    {
        "no Events": None,
        "Events of another kind": [1],
        "an Event without a time": [
            {
                "metadata": {"name": "e"},
                "involvedObject": {},
                "type": "",
                "reason": "",
                "message": "",
                "lastTimestamp": "x",
            }
        ],
    }
)
def _(_folder, events):
    with _daemon(json.dumps({**_REPORT, "events": events}).encode()) as url:
        ran = program("status", "--url", url, "-o", "events")
    held = ran.status == 2 and not ran.failed and "no Events" in ran.err
    return Outcome(held=held, figure=ran.err.strip()[-100:])


@attack("an episode before the calendar")
def _(_folder):
    episode = {"id": "e", "reason": "x", "subject": "workload/a/b", "began": "0001-01-01T00:00:00+14:00", "ended": None, "about": False}  # fmt: skip
    body = json.dumps({"now": "2026-11-20T12:00:00Z", "episodes": [episode]})
    with _daemon(body.encode()) as url:
        ran = program("history", "--url", url)
    return Outcome(held=ran.status == 2 and not ran.failed, figure=ran.err.strip()[-100:])


_ANSWERS_TO_TOOLS = {
    "of a hundred thousand levels": b"[" * 100_000,
    "of half a pair of surrogates": b'{"findings": [{"disposition": "firing", "message": "\\ud800"}]}',
    "of findings without fields": b'{"findings": [{}], "subjects": [{}], "episodes": [{}]}',
    "of what is no list": b'{"findings": 1, "subjects": "x", "episodes": {}}',
}


@attacks({f"an answer to an assistant {name}": body for name, body in _ANSWERS_TO_TOOLS.items()})
def _(_folder, body):
    told = []
    with _daemon(body) as url:
        tools = Tools(Namespace(url=url, sources=[]), None)
        for ask in (tools.report, tools.history):
            try:
                told.append(json.dumps(asyncio.run(ask()), ensure_ascii=False).encode())
            except ToolError as error:
                told.append(f"{error}".encode())
    return Outcome(held=len(told) == 2, figure=f"{told[0][:90]}")
