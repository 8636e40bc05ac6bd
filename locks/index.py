"""A package index on loopback that has what is locked, and of each package a newer release: an empty one.

Whoever asks a resolver gets the newer one, or a name that no lock has; both are noted.
"""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

from packaging.utils import canonicalize_name, parse_wheel_filename

_TAG: Final = "py3-none-any.whl"


class Index:
    """What is served, and what was asked for.

    Attributes:
        url: of the simple API, while served.
        strange: what nobody who installs a lock asks for: names that are not locked, and newer releases.

    """

    def __init__(self, wheels: Path) -> None:
        self.url = ""
        self.strange: set[str] = set()
        self._files: dict[str, Path] = {path.name: path for path in wheels.glob("*.whl")}
        self._newer: dict[str, bytes] = {}
        self._pages: dict[str, list[str]] = {}
        for file in sorted(self._files):
            name, version, _, _ = parse_wheel_filename(file)
            self._add(name, file, self._files[file].read_bytes())
            newer = f"{name.replace('-', '_')}-{version.release[0] + 1}.0-{_TAG}"
            if newer not in self._newer:
                self._newer[newer] = _empty(newer)
                self._add(name, newer, self._newer[newer])

    def _add(self, name: str, file: str, content: bytes) -> None:
        digest = hashlib.sha256(content).hexdigest()
        link = f'<a href="/files/{file}#sha256={digest}">{file}</a>\n'
        self._pages.setdefault(name, []).append(link)

    def answer(self, path: str) -> bytes | None:
        """Return what is at a path; None if there is nothing."""
        *_, kind, name = ["", *path.strip("/").split("/")]
        if kind == "files":
            if name in self._newer:
                self.strange.add(name)
                return self._newer[name]
            return self._files[name].read_bytes() if name in self._files else None
        page = self._pages.get(canonicalize_name(name))
        if page is None:
            if name != "pip":  # which asks whether it is the newest itself
                self.strange.add(name)
            return None
        return f"<!DOCTYPE html><html><body>{''.join(page)}</body></html>".encode()


def _empty(file: str) -> bytes:
    name, version, _ = file.split("-", maxsplit=2)
    about = f"{name}-{version}.dist-info"
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as wheel:
        wheel.writestr(
            f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nTag: py3-none-any\n")
        wheel.writestr(
            f"{about}/RECORD", f"{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n"
        )
    return content.getvalue()


@contextmanager
def serving(wheels: Path) -> Iterator[Index]:
    """Serve a folder of wheels on loopback."""
    index = Index(wheels)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # the name that http.server calls
            content = index.answer(self.path)
            self.send_response(404 if content is None else 200)
            if content is not None and "/simple/" in self.path:
                self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        index.url = f"http://127.0.0.1:{server.server_port}/simple"
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield index
        finally:
            server.shutdown()
