"""The script of the startup probe: waits until the replica is ready, so that no probe fails meanwhile.

A failed probe would be a Warning on the pod, and the time that Python takes to start depends on the node.

Arguments: the port of `/readyz`, and the seconds to wait. A replica that listens by then has started,
ready or not: without an API server no replica gets ready. Imports are few, as the script runs while
the replica starts.
"""

import socket
import sys
import time

OK = 200
POLL_SECONDS = 0.2
REQUEST_SECONDS = 5


def status(port: int) -> int:
    """Return the HTTP status of `/readyz`, or 0 without an answer."""
    try:
        with socket.create_connection(("127.0.0.1", port), REQUEST_SECONDS) as connection:
            connection.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
            return int(connection.makefile("rb").readline().split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def started(port: int, patience_seconds: float) -> bool:
    """Wait until the replica is ready; return whether it listens."""
    deadline = time.monotonic() + patience_seconds
    while (answer := status(port)) != OK and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return answer != 0


if __name__ == "__main__":
    sys.exit(not started(int(sys.argv[1]), float(sys.argv[2])))
