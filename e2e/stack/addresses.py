"""Addresses for simulated pods on this machine."""

import contextlib
import os
import subprocess
from collections.abc import Iterator

from e2e.stack.api import StackError


def own_loopback(number: int) -> str:
    """Return a loopback address that no other test process uses, up to 250 of them."""
    process = os.getpid()
    return f"127.{1 + process // 250 % 100}.{process % 250}.{number}"


@contextlib.contextmanager
def proxied_address() -> Iterator[str]:
    """Give this machine an address to which the API server's pod proxy goes.

    The proxy refuses loopback addresses. This one is from the unused range for benchmarks
    (RFC 2544), one of its own for each test process.
    """
    process = os.getpid()
    address = f"198.18.{process // 250 % 250}.{1 + process % 250}"
    _ip("replace", address)
    try:
        yield address
    finally:
        _ip("delete", address)


def _ip(verb: str, address: str) -> None:
    command = ["ip", "address", verb, f"{address}/32", "dev", "lo"]
    try:
        subprocess.run(command, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        raise StackError(
            f"{' '.join(command)} failed: {said.strip()}; it needs root and iproute2"
        ) from None
