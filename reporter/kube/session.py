"""HTTP sessions over the library's connections, and what they are made of."""

import urllib.request
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
        self.proxy = configuration.proxy or _environment_proxy(configuration.host or "")

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


def _environment_proxy(host: str) -> str | None:
    url = yarl.URL(host)
    if url.host is None or urllib.request.proxy_bypass(url.host):
        return None
    return urllib.request.getproxies().get(url.scheme)


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
