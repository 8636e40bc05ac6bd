"""`python -m e2e.envtest`: a control plane to try things on, until Ctrl-C."""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from e2e.envtest.binaries import binaries
from e2e.envtest.control_plane import ControlPlane
from e2e.envtest.errors import EnvtestError


def main() -> None:
    """Start one, print how to reach it, and wait."""
    parser = argparse.ArgumentParser(prog="python -m e2e.envtest", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, help="write an admin's kubeconfig here")
    wanted: Path | None = parser.parse_args().kubeconfig
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="envtest-") as folder:
            _serve(Path(folder), wanted)
    except EnvtestError as error:
        sys.exit(f"envtest: {error}")


def _serve(folder: Path, wanted: Path | None) -> None:
    plane = ControlPlane(binaries(), folder)
    try:
        plane.start()
        kubeconfig = plane.admin.write_kubeconfig(wanted or folder / "kubeconfig.yaml")
        print(f"export KUBECONFIG={kubeconfig.resolve()}")
        print(f"export STATUS_REPORTER_API_URL={plane.admin.url}")
        print(f"export STATUS_REPORTER_API_TOKEN={plane.admin.token}")
        print(f"export STATUS_REPORTER_API_CA={plane.admin.authority}", flush=True)
        signal.pause()
    except KeyboardInterrupt:
        print("stopping", file=sys.stderr)
    finally:
        plane.stop()


if __name__ == "__main__":
    main()
