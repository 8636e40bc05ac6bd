"""A network for pods: an additional address of this machine that is not on loopback.

The API server's pod proxy refuses loopback addresses, so its targets listen in a separate network
namespace, behind a pair of virtual interfaces. Nothing else is routed there.
"""

import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from e2e.stack.api import StackError

_PREFIX: Final = "e2e-pods-"
_PLACES: Final = 200
_FILES: Final = Path("/run/netns")
_CLONE_NEWNET: Final = 0x40000000


class PodNetwork:
    """A network namespace with an address.

    Attributes:
        address: of its listeners, from the unused range for benchmarks (RFC 2544).
    """

    def __init__(self, place: int) -> None:
        self.name = f"{_PREFIX}{place}"
        self.address = f"198.18.{place}.2"
        self._listeners: list[socket.socket] = []

    def listen(self, port: int) -> socket.socket:
        """Return a socket that listens there, for this process to serve, until `close`.

        Raises:
            StackError: the namespace cannot be entered, or the port is taken.
        """
        failed: list[OSError] = []

        def enter() -> None:
            try:
                _enter(_FILES / self.name)
                self._listeners.append(socket.create_server((self.address, port)))
            except OSError as error:
                failed.append(error)

        # A network namespace belongs to a thread; a socket stays in the one where it was created.
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
        if failed:
            raise StackError(f"cannot listen on {self.address}:{port} in {self.name}: {failed[0]}")
        return self._listeners[-1]

    def close(self) -> None:
        for listener in self._listeners:
            listener.close()


def own_loopback(number: int) -> str:
    """Return a loopback address that no other test process uses, up to 250 of them."""
    process = os.getpid()
    return f"127.{1 + process // 250 % 100}.{process % 250}.{number}"


@contextlib.contextmanager
def pod_network() -> Iterator[PodNetwork]:
    """Make a network, and remove it at the end.

    Raises:
        StackError: this process has no right to make one.
    """
    if os.geteuid() != 0:
        raise StackError("the pod network needs root: run the end-to-end tests as root")
    if shutil.which("ip") is None:
        raise StackError("the pod network needs the command ip: install iproute2")
    _remove_stale()
    network = _claim()
    try:
        _connect(network)
        yield network
    finally:
        network.close()
        _remove(network.name)


def _claim() -> PodNetwork:
    """Take a place that no other process has: only one can create a namespace with a name."""
    for place in range(_PLACES):
        network = PodNetwork(place)
        if not (_FILES / network.name).exists():
            try:
                _ip("netns", "add", network.name)
            except StackError:
                if (_FILES / network.name).exists():
                    continue
                raise
            return network
    raise StackError(f"{_PLACES} pod networks exist already: see 'ip netns list'")


def _connect(network: PodNetwork) -> None:
    name = network.name
    outside = network.address.rpartition(".")[0] + ".1"
    peer = ("peer", "name", "eth0", "netns", name)
    _ip("link", "add", name, "type", "veth", *peer)
    _ip("link", "set", name, "alias", str(os.getpid()))
    _ip("address", "add", f"{outside}/30", "dev", name)
    _ip("link", "set", name, "up")
    _ip("-n", name, "address", "add", f"{network.address}/30", "dev", "eth0")
    _ip("-n", name, "link", "set", "eth0", "up")


def _remove_stale() -> None:
    """Remove the networks of processes that were killed."""
    for alias in Path("/sys/class/net").glob(f"{_PREFIX}*/ifalias"):
        with contextlib.suppress(OSError):
            owner = alias.read_text().strip()
            if owner and not Path("/proc", owner).exists():
                _remove(alias.parent.name)


def _remove(name: str) -> None:
    # A namespace lives on while sockets are in it; without its link, nothing reaches them.
    for command in (("link", "delete", name), ("netns", "delete", name)):
        with contextlib.suppress(StackError):
            _ip(*command)


def _enter(namespace: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.open(namespace, os.O_RDONLY)
    try:
        if libc.setns(handle, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(handle)


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StackError(
            f"ip {' '.join(arguments)} failed: {done.stderr.strip()}; "
            "the pod network needs the capabilities NET_ADMIN and SYS_ADMIN"
        )
