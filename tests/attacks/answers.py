"""What answers in place of a daemon: `status` and `history` ask whatever address they are given."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from tests.attacks.attack import Outcome, attacks, program

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


@attacks(ANSWERS)
def _(_folder, row):
    headers, make = row
    body = make()

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
        ran = [
            program(command, "--url", f"http://127.0.0.1:{server.server_port}", seconds=20)
            for command in ("status", "history")
        ]
        server.shutdown()
    held = all(each.status == 2 and not each.failed and each.mebibytes < 400 for each in ran)
    most = max(each.mebibytes for each in ran)
    return Outcome(held=held, figure=f"at most {most:.0f} MiB: {ran[0].err.strip()[-90:]}")
