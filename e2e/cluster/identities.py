"""Identities in the cluster: certificates, and a kubeconfig for each program."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trustme

from e2e.cluster.network import API_PORT, API_SERVICE, Link
from e2e.envtest.access import Access

ADMIN: Final = "admin"
_GROUPS: Final = {ADMIN: "system:masters"}
_PROGRAMS: Final = ("kube-controller-manager", "kube-scheduler", "kube-proxy")


@dataclass(frozen=True)
class Identities:
    """Credential files.

    Attributes:
        folder: where they are; only root may read it.
        admin: access of an administrator, from the host.
    """

    folder: Path
    admin: Access

    @classmethod
    def make(cls, folder: Path, link: Link, nodes: Iterable[str]) -> "Identities":
        """Create all files, for the API server at an address of the first of these nodes."""
        folder.mkdir(mode=0o700, parents=True)
        _certificates(folder, link)
        url = f"https://{link.node}:{API_PORT}"
        users = {ADMIN: ADMIN} | {f"kubelet-{node}": f"system:node:{node}" for node in nodes}
        users |= {program: f"system:{program}" for program in _PROGRAMS}
        lines = []
        for name, user in users.items():
            token = f"{name}-of-this-cluster"
            access = Access(url, folder / "ca.crt", token)
            access.write_kubeconfig(folder / f"{name}.yaml")
            group = "system:nodes" if name.startswith("kubelet") else _GROUPS.get(name, "")
            lines.append(f'{token},{user},{user},"{group}"\n')
        (folder / "tokens.csv").write_text("".join(lines))
        (folder / "admin.token").write_text(f"{ADMIN}-of-this-cluster")
        return cls(folder, Access(url, folder / "ca.crt", f"{ADMIN}-of-this-cluster"))

    def kubeconfig(self, name: str) -> Path:
        """Return the kubeconfig of a program, or of `ADMIN`."""
        return self.folder / f"{name}.yaml"

    @property
    def token(self) -> Path:
        """File with the administrator's token."""
        return self.folder / f"{ADMIN}.token"

    @property
    def authority(self) -> Path:
        """Certificate of the authority."""
        return self.folder / "ca.crt"

    def pair(self, name: str) -> tuple[Path, Path]:
        """Return certificate and key of `server`, or of the API server as a `client` of kubelets."""
        return self.folder / f"{name}.crt", self.folder / f"{name}.key"


def _certificates(folder: Path, link: Link) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.crt")
    server = authority.issue_cert(
        link.node, "127.0.0.1", "localhost", API_SERVICE, "kubernetes.default.svc"
    )
    # Go refuses the empty list of names that a certificate without any would have.
    client = authority.issue_cert(
        "localhost", common_name="kube-apiserver", organization_name="system:masters"
    )
    for name, leaf in (("server", server), ("client", client)):
        leaf.private_key_pem.write_to_path(folder / f"{name}.key")
        for pem in leaf.cert_chain_pems:
            pem.write_to_path(folder / f"{name}.crt", append=True)
