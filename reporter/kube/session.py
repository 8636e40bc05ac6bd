"""HTTP sessions over the library's connections, and what they are made of."""

import ipaddress
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import aiohttp
import yarl

from reporter.kube.errors import ConfigurationError
from reporter.kube.library import library
from reporter.model.text import clean

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

_READ_BYTES: Final = 2**18


class Session:
    """Our session on the connections of one of the library's clients.

    Raises:
        ConfigurationError: a certificate or key cannot be used.

    """

    def __init__(self, configuration: "Configuration") -> None:
        try:
            self._api = library().api_client(configuration=configuration)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise ConfigurationError(
                "the certificates of the cluster's configuration cannot be used: "
                f"{clean(str(error))}; check certificate-authority, client-certificate and "
                "client-key in the kubeconfig"
            ) from None
        # The library's own session asks a thread for ~/.netrc before each request.
        self.http = aiohttp.ClientSession(
            connector=self._api.rest_client.pool_manager.connector,
            connector_owner=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_READ_BYTES,
        )
        self.proxy = configuration.proxy or environment_proxy(configuration.host or "")

    async def close(self) -> None:
        """Close the connections."""
        await self.http.close()
        await self._api.close()


def require_address(host: str) -> None:
    """Refuse what is no address of a server.

    Raises:
        ConfigurationError: it is none; it is not repeated, as it may hold a password.

    """
    try:
        url = yarl.URL(host)
        usable = url.scheme in {"http", "https"} and bool(url.host)
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(
            "the server's address in the kubeconfig is not a URL like https://host:6443"
        )


def environment_proxy(host: str) -> str | None:
    """Return the proxy of the environment for the API server, None for none.

    As client-go does (Go, golang.org/x/net/http/httpproxy): never for `localhost` and loopback
    addresses, which would give the token to whoever is named, and for nothing that NO_PROXY names.
    """
    url = yarl.URL(host)
    if not url.host or _is_direct(url.host.lower().rstrip("."), url.port):
        return None
    name = f"{url.scheme}_proxy"
    return os.environ.get(name.upper()) or os.environ.get(name) or None


def _is_direct(host: str, port: int | None) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    named = os.environ.get("NO_PROXY") or os.environ.get("no_proxy") or ""
    return any(_names(each.strip().lower(), host, port) for each in named.split(","))


def _names(entry: str, host: str, port: int | None) -> bool:
    """Tell whether an entry of NO_PROXY is `*`, a range, an address, or a domain that the host is in."""
    if entry in {"", "*"}:
        return bool(entry)
    address = _address(host)
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, _, digits = entry.rpartition(":")
    if name and digits.isdigit() and (":" not in name or name.startswith("[")):
        if int(digits) != port:
            return False
        entry = name
    entry = entry.strip("[]")
    if address is not None:
        return _address(entry) == address
    domain = entry.removeprefix("*").removeprefix(".")
    is_own = domain == entry and host == domain
    return bool(domain) and (is_own or host.endswith(f".{domain}"))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def tls_identity(configuration: "Configuration") -> tuple[object, ...]:
    """Return what the TLS context was made of; it is made again when that changes."""
    files = (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file)
    return (configuration.host, configuration.verify_ssl, *map(_file_identity, files))


def _file_identity(name: str | None) -> tuple[str, int] | None:
    if not name:
        return None
    try:
        return name, Path(name).stat().st_mtime_ns
    except OSError:
        return name, 0
