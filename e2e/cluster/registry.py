"""A registry with our own images, so that real kubelets pull: slowly, in vain, or successfully.

It implements the part of github.com/opencontainers/distribution-spec that containerd uses. The
engine is the laboratory's simulated vLLM; its tags differ in the time of a pull.
"""

import json
import re
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final, Self

import prometheus_client

from e2e.cluster.images import config_of, digest_of, layer_of
from e2e.cluster.machine import Link
from e2e.cluster.packages import base_root
from e2e.cluster.settings import REGISTRY_PORT, ROOT

_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
_CONFIG: Final = "application/vnd.oci.image.config.v1+json"
_LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
_PATH: Final = re.compile(r"/v2/(?P<name>[^?]+)/(?:manifests|blobs)/(?P<what>[^/?]+)")

_ENGINE: Final = b'#!/bin/sh\nexec python3 -m lab.simulation "$@"\n'
_NOBODY: Final = "65532"


class Registry:
    """Serves images to the nodes of a cluster while entered.

    Attributes:
        manifests: by digest, and by name with tag; an image without its tag does not exist.
    """

    def __init__(self) -> None:
        self.manifests: dict[str, bytes] = {}
        self._blobs: dict[str, bytes] = {}
        self._seconds: dict[str, float] = {}

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"of": self})
        self._server = ThreadingHTTPServer((Link.host, REGISTRY_PORT), handler)
        self._server.daemon_threads = True
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(
        self, name: str, layers: Sequence[bytes], *, pull_seconds: float = 0.0, **config: object
    ) -> None:
        """Add an image.

        Args:
            name: with its tag.
            layers: the lowest one first.
            pull_seconds: how long its configuration takes, which no other image has.
            config: `Entrypoint`, `Env` and others of its containers.
        """
        blobs = {digest_of(each): each for each in layers}
        made = config_of(list(blobs), **config)
        self._seconds[digest_of(made)] = pull_seconds
        self._blobs |= blobs | {digest_of(made): made}
        manifest = json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": _MANIFEST,
                "config": _part(_CONFIG, made),
                "layers": [_part(_LAYER, each) for each in layers],
            }
        ).encode()
        self.manifests |= {name: manifest, digest_of(manifest): manifest}

    def found(self, name: str, what: str) -> tuple[str, bytes] | None:
        """Return type and content of a manifest by tag or digest, or of a blob."""
        manifest = self.manifests.get(what) or self.manifests.get(f"{name}:{what}")
        if manifest:
            return _MANIFEST, manifest
        blob = self._blobs.get(what)
        time.sleep(self._seconds.get(what, 0.0))
        return ("application/octet-stream", blob) if blob else None


class _Handler(BaseHTTPRequestHandler):
    of: Registry

    def do_GET(self) -> None:
        path = _PATH.match(self.path)
        found = self.of.found(path["name"], path["what"]) if path else ("text/plain", b"")
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        kind, content = found
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if kind == _MANIFEST:
            self.send_header("Docker-Content-Digest", digest_of(content))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    do_HEAD = do_GET  # noqa: N815 - the name is the library's

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's
        """Log nothing."""


def _part(kind: str, content: bytes) -> Mapping[str, object]:
    return {"mediaType": kind, "digest": digest_of(content), "size": len(content)}


def engine_layers(**programs: Path) -> Sequence[bytes]:
    """Return the layers of the simulated vLLM, with further programs in `/usr/local/bin`."""
    files = {"opt/lab/__init__.py": b"", "usr/local/bin/vllm": _ENGINE}
    library = Path(prometheus_client.__file__).parent
    for package, name in ((ROOT / "lab" / "simulation", "lab/simulation"), (library, library.name)):
        for path in sorted(package.rglob("*.py")):
            files[f"opt/{name}/{path.relative_to(package)}"] = path.read_bytes()
    files |= {f"usr/local/bin/{name}": path.read_bytes() for name, path in programs.items()}
    return base_root().read_bytes(), layer_of(files, {})


def engine_config(loading_seconds: float = 0.0, tag: str = "") -> Mapping[str, object]:
    """Return the configuration of the engine's containers; a tag makes it a different image."""
    path = "PATH=/usr/local/bin:/usr/bin:/bin"
    return {
        "Entrypoint": ["vllm"],
        "Env": [path, "PYTHONPATH=/opt", f"LOADING_SECONDS={loading_seconds}", f"TAG={tag}"],
        "User": _NOBODY,
    }
