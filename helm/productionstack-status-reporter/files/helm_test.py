"""The script of `helm test`: every replica answers and evaluates, one leads, everything is readable.

Arguments: the headless Service of the metrics, its port, and the age in seconds at which a pass is
late. It uses only the standard library, so the reporter's own image is enough.
"""

import http.client
import socket
import sys
import time

DEADLINE_SECONDS = 60
REQUEST_SECONDS = 5


def replicas(service: str, port: int) -> list[str]:
    """Return the addresses of all replicas that are ready."""
    found = socket.getaddrinfo(service, port, type=socket.SOCK_STREAM)
    return sorted({str(address[0]) for *_, address in found})


def metrics(address: str, port: int) -> dict[str, float]:
    """Return the metrics of one replica that have no labels."""
    connection = http.client.HTTPConnection(address, port, timeout=REQUEST_SECONDS)
    try:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise OSError(f"/metrics answers {answer.status}")
    lines = (line.split() for line in text.splitlines() if line[:1] not in {"#", ""})
    return {name: float(value) for name, value, *_ in lines if "{" not in name}


def complaints(service: str, port: int, late_seconds: float) -> list[str]:
    """Return the problems; empty if there are none."""
    try:
        addresses = replicas(service, port)
    except OSError as error:
        return [f"{service}: {error}; is any replica ready?"]
    wrong, leaders = [], 0.0
    for address in addresses:
        try:
            values = metrics(address, port)
        except (OSError, http.client.HTTPException, ValueError) as error:
            wrong.append(f"{address}: {error}")
            continue
        leaders += values.get("status_reporter_leader", 0.0)
        age = time.time() - values.get("status_reporter_last_pass_timestamp_seconds", 0.0)
        if age > late_seconds:
            wrong.append(f"{address}: no pass in the last {late_seconds:g} s")
        if unknown := values.get("status_reporter_resources_unknown", 0.0):
            wrong.append(
                f"{address}: cannot read {unknown:g} resource(s); see clusterStatusUnknown"
            )
    if leaders != 1:
        wrong.append(f"{leaders:g} of {len(addresses)} replica(s) lead")
    return wrong


def main() -> int:
    """Ask until all is well, for a minute at most."""
    service, port, late_seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    deadline = time.monotonic() + DEADLINE_SECONDS
    while wrong := complaints(service, port, late_seconds):
        if time.monotonic() > deadline:
            sys.stderr.write("\n".join(wrong) + "\n")
            return 1
        time.sleep(1)
    sys.stdout.write("Every replica evaluates the cluster, and one leads.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
