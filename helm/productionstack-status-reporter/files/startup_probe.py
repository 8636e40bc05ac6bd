"""What the start-up probe runs: it waits until the replica is ready, so that no probe fails meanwhile.

A probe that fails is a Warning on the pod, and how long Python takes to start is the node's matter.

Arguments: the port of `/readyz`, and the seconds to wait. A replica that listens by then has started,
ready or not: without an API server nobody is. Only the standard library's smallest part, as it runs
while the replica starts.
"""

import socket
import sys
import time

OK = 200
POLL_SECONDS = 0.2
REQUEST_SECONDS = 5


def status(port: int) -> int:
    """Return the HTTP status of `/readyz`, 0 if nobody answers."""
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
