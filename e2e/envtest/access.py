"""Access to an API server: its address, its authority, and a bearer token."""

import ssl
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Access:
    """What a client needs; the token does not appear in messages.

    Attributes:
        url: of the API server, such as `https://127.0.0.1:6443`.
        authority: PEM file of the certificate authority.
        token: bearer token.
    """

    url: str
    authority: Path
    token: str = field(repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """The header that authenticates a request."""
        return {"Authorization": f"Bearer {self.token}"}

    def tls(self) -> ssl.SSLContext:
        """A TLS context that trusts only the authority."""
        return ssl.create_default_context(cafile=str(self.authority))

    def by(self, url: str) -> "Access":
        """Return the same access through another address, such as a proxy's."""
        return replace(self, url=url)

    def write_kubeconfig(self, path: Path) -> Path:
        """Write a kubeconfig that only its owner may read, and return its path."""
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(self._kubeconfig()))
        return path

    def _kubeconfig(self) -> dict[str, Any]:
        cluster = {"server": self.url, "certificate-authority": str(self.authority)}
        context = {"cluster": "envtest", "user": "envtest"}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "envtest", "cluster": cluster}],
            "users": [{"name": "envtest", "user": {"token": self.token}}],
            "contexts": [{"name": "envtest", "context": context}],
            "current-context": "envtest",
        }
