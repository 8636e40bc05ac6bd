"""`python -m e2e.envtest`: a control plane for experiments, until Ctrl-C, or for one command."""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from e2e.envtest.binaries import Binaries
from e2e.envtest.commands import EnvtestError
from e2e.envtest.control_plane import ControlPlane, control_plane

COMPACTION_SECONDS: Final = 5
"""How often versions expire for a command, instead of every 5 min."""


def main() -> None:
    """Start one, print how to reach it, and wait, or run a command and exit with its status."""
    parser = argparse.ArgumentParser(prog="python -m e2e.envtest", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, help="write an admin's kubeconfig here")
    parser.add_argument(
        "--run",
        nargs=argparse.REMAINDER,
        metavar="COMMAND",
        help="run this with the variables set, then stop; must be the last option",
    )
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="envtest-") as folder:
            status = _serve(Path(folder), arguments.kubeconfig, arguments.run)
    except EnvtestError as error:
        sys.exit(f"envtest: {error}")
    sys.exit(status)


def _serve(folder: Path, wanted: Path | None, command: Sequence[str] | None) -> int:
    # A command may wait for versions to expire; in a manual session that would only surprise.
    flags = () if command is None else (f"--etcd-compaction-interval={COMPACTION_SECONDS}s",)
    try:
        with control_plane(folder, *flags) as plane:
            kubeconfig = plane.admin.write_kubeconfig(wanted or folder / "kubeconfig.yaml")
            variables = access_variables(plane, kubeconfig.resolve())
            if command is not None:
                return _run(command, plane.binaries, variables)
            for name, value in variables.items():
                print(f"export {name}={shlex.quote(value)}", flush=True)
            signal.pause()
    except KeyboardInterrupt:
        print("stopping", file=sys.stderr)
    return 0


def access_variables(plane: ControlPlane, kubeconfig: Path) -> dict[str, str]:
    """Return the environment variables for a control plane and its admin."""
    return {
        "KUBECONFIG": str(kubeconfig),
        "STATUS_REPORTER_API_URL": plane.admin.url,
        "STATUS_REPORTER_API_TOKEN": plane.admin.token,
        "STATUS_REPORTER_API_CA": str(plane.admin.authority),
    }


def _run(command: Sequence[str], programs: Binaries, variables: Mapping[str, str]) -> int:
    """Run a command with the kubectl of the same release first on PATH."""
    path = f"{programs.kubectl.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    environment = {**os.environ, **variables, "PATH": path}
    done = subprocess.run(command, env=environment, check=False)
    # As in a shell, if a signal ended the command.
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


if __name__ == "__main__":
    main()
