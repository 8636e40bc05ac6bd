"""`python -m e2e.cluster.resolver`: the names of Services, for pods, in place of CoreDNS.

It answers A queries for `<service>.<namespace>.svc.cluster.local` over UDP, reading the API at each
query: with the Service's address, or those of its ready endpoints if it is headless. Other names do
not exist: nothing outside the cluster can be reached. The specification is
github.com/kubernetes/dns, docs/specification.md.
"""

import argparse
import asyncio
import socket
import struct
from pathlib import Path
from typing import Final, cast

import httpx

from e2e.cluster.settings import DOMAIN
from e2e.envtest.commands import Access
from lab.sandbox.objects import dig

_SUFFIX: Final = ["svc", *DOMAIN.split(".")]
_A: Final = 1
_NO_SUCH_NAME: Final = 3
_ANSWERED: Final = 0x8580
"""Flags of a response: authoritative, recursion desired and available."""

_HEADER: Final = 12
_SECONDS_TO_LIVE: Final = 5


async def addresses(api: httpx.AsyncClient, name: str) -> list[str] | None:
    """Return the addresses of a name; `None` if the name does not exist."""
    service, _, rest = name.lower().rstrip(".").partition(".")
    namespace, *suffix = rest.split(".")
    if suffix != _SUFFIX:
        return None
    found = await api.get(f"/api/v1/namespaces/{namespace}/services/{service}")
    if found.is_error:
        return None
    address = dig(found.json(), "spec", "clusterIP") or "None"
    if address != "None":
        return [address]
    found = await api.get(
        f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices",
        params={"labelSelector": f"kubernetes.io/service-name={service}"},
    )
    endpoints = [each for part in found.json()["items"] for each in part.get("endpoints") or ()]
    return [
        ip for each in endpoints if dig(each, "conditions", "ready") for ip in each["addresses"]
    ]


class Resolver(asyncio.DatagramProtocol):
    def __init__(self, api: httpx.AsyncClient) -> None:
        self._api = api
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # The selector loop's transport does not derive from the class whose methods it has.
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        task = asyncio.create_task(self._answer(data, addr))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, query: bytes, asker: tuple[str, int]) -> None:
        name, end = question(query)
        (kind,) = struct.unpack_from("!H", query, end)
        try:
            found = await addresses(self._api, name)
        except httpx.TransportError:
            return  # the client will ask again
        told = found if found and kind == _A else []
        self._transport.sendto(response(query, end, told, exists=found is not None), asker)


def question(query: bytes) -> tuple[str, int]:
    """Return the name in a query, and where its type begins."""
    labels, at = [], _HEADER
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode("ascii", "replace"))
        at += 1 + length
    return ".".join(labels), at + 1


def response(query: bytes, end: int, addresses: list[str], *, exists: bool) -> bytes:
    """Return the answer to a query whose question's type begins at `end`."""
    flags = _ANSWERED if exists else _ANSWERED | _NO_SUCH_NAME
    header = query[:2] + struct.pack("!HHHHH", flags, 1, len(addresses), 0, 0)
    records = b"".join(
        # The name is that of the question, right after the header (RFC 1035, 4.1.4).
        struct.pack("!HHHIH", 0xC000 | _HEADER, _A, 1, _SECONDS_TO_LIVE, 4)
        + socket.inet_aton(address)
        for address in addresses
    )
    return header + query[_HEADER : end + 4] + records


async def _serve(access: Access, address: str) -> None:
    client = httpx.AsyncClient(base_url=access.url, headers=access.headers, verify=access.tls())
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(lambda: Resolver(client), local_addr=(address, 53))
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m e2e.cluster.resolver", description=__doc__)
    parser.add_argument("--url", required=True, help="of the API server")
    parser.add_argument("--authority", required=True, type=Path, help="PEM file")
    parser.add_argument("--token", required=True, type=Path, help="file with the bearer token")
    parser.add_argument("--address", required=True, help="to listen at, port 53 of UDP")
    given = parser.parse_args()
    access = Access(given.url, given.authority, given.token.read_text())
    asyncio.run(_serve(access, given.address))


if __name__ == "__main__":
    main()
