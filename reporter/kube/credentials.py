"""Where the API server is and who we are, loaded and refreshed through kubernetes_asyncio.

The library's packages import its whole generated client, 860 modules for all kinds of the API. We
need only its configuration and its connections: lists, watches and writes are our own. Importing
only these (`library`) saves a third of a small daemon's resident memory, and time at startup. They
are imported below empty stand-in packages, which are removed again: a later import of
kubernetes_asyncio gets the whole library. Only this module knows the library's layout.
"""

import asyncio
import importlib
import importlib.util
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, TypeAlias

import structlog

from reporter.kube.clock import boot_seconds
from reporter.kube.errors import ConfigurationError
from reporter.model.text import clean, cut
from reporter.yaml_reader.limits import Unreadable
from reporter.yaml_reader.reading import decoded, read_yaml

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.client.rest import RESTClientObject
    from kubernetes_asyncio.config.kube_config import KubeConfigLoader

_ROOT: Final = "kubernetes_asyncio"
_BARE: Final = (_ROOT, f"{_ROOT}.client", f"{_ROOT}.client.models")
_UNUSED: Final = "urllib3"
"""Only for basic authentication, which API servers dropped in Kubernetes 1.19."""


@dataclass(frozen=True, slots=True)
class Library:
    configuration: "type[Configuration]"
    rest_client: "type[RESTClientObject]"
    config: ModuleType


@lru_cache(maxsize=1)
def library() -> Library:
    spec = importlib.util.find_spec(_ROOT)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError("kubernetes_asyncio is not installed; reinstall the reporter")
    with _bare_packages(Path(spec.submodule_search_locations[0])):
        try:
            return _import()
        except (AttributeError, ImportError) as error:
            raise ConfigurationError(
                f"{_ROOT} {version(_ROOT)} is not laid out as expected: {error}; "
                "install the version that requirements.lock names"
            ) from error


def _import() -> Library:
    configuration = importlib.import_module(f"{_ROOT}.client.configuration").Configuration
    rest_client = importlib.import_module(f"{_ROOT}.client.rest").RESTClientObject
    # `config` imports both from the package, and we call nothing that makes an ApiClient.
    client = sys.modules[f"{_ROOT}.client"]
    client.__dict__.update(Configuration=configuration, ApiClient=None)
    config = importlib.import_module(f"{_ROOT}.config")
    return Library(configuration, rest_client, config)


@contextmanager
def _bare_packages(folder: Path) -> Iterator[None]:
    """Install packages that import nothing; on exit remove them and their modules again."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _of_library(name)}
    for name in _BARE:
        module = ModuleType(name)
        module.__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            sys.modules[parent].__dict__[child] = module
    sys.modules[_UNUSED] = ModuleType(_UNUSED)
    try:
        yield
    finally:
        for name in [name for name in sys.modules if _of_library(name)]:
            del sys.modules[name]
        sys.modules.update(before)


def _of_library(name: str) -> bool:
    return name.partition(".")[0] in {_ROOT, _UNUSED}


_LOAD_SECONDS: Final = 30.0
"""An exec plugin that hangs must not hang us."""

_REFRESH_SECONDS: Final = 60.0
"""How often tokens are read again, as the library does in a cluster."""

_RELOAD_SECONDS: Final = 10.0
"""Least time between two full reloads, so that persistent 401s do not start plugin after plugin."""

log = structlog.get_logger(__name__)


class InCluster:
    async def load(self) -> "Configuration":
        configuration = library().configuration()
        library().config.load_incluster_config(client_configuration=configuration)
        return configuration

    async def refresh(self, configuration: "Configuration") -> None:
        """Do nothing: the library's hook re-reads the token every minute."""

    def renewal(self) -> str:
        return "the token of the pod's ServiceAccount: does the ServiceAccount still exist?"


class Kubeconfig:
    def __init__(self, paths: str, context: str | None) -> None:
        self._paths = paths
        self._context = context
        self._loader: KubeConfigLoader | None = None

    @property
    def paths(self) -> str:
        return self._paths

    async def load(self) -> "Configuration":
        # The library logs the stderr of a plugin, which may contain credentials; the exception
        # carries the same text, and that is cleaned.
        logging.getLogger("kubernetes_asyncio.config.kube_config").setLevel(logging.CRITICAL)
        configuration = library().configuration()
        self._loader = await library().config.load_kube_config(
            config_file=self._paths,
            context=self._context,
            client_configuration=configuration,
            persist_config=False,  # never write to the user's file
        )
        return configuration

    async def refresh(self, configuration: "Configuration") -> None:
        """Run the plugin again before its token expires, or re-read the token file.

        The token of a plugin without an expiry is used until a 401, as in client-go.
        """
        loader = self._loader
        if loader is None:
            return
        user = getattr(loader, "_user", None)
        if user is not None and "exec" in user and not hasattr(loader, "exec_plugin_expiry"):
            return
        await loader.load_and_set(configuration)

    def renewal(self) -> str:
        """Name the kubeconfig's user and the kind of its credentials, never the credentials."""
        user = getattr(self._loader, "_user", None)
        of = f" of {self._user_name()} in {self._paths}"
        if user is None:
            return f"nothing is presented: the context names no user in {self._paths}"
        if "exec" in user:
            command = cut(clean(str(user["exec"].safe_get("command"))), 100)
            return f"log in again with what `{command}` asks{of}"
        if "auth-provider" in user:
            return f"the {getattr(self._loader, 'provider', None) or 'auth-provider'} token{of}"
        for field, what in _PRESENTED.items():
            if field in user:
                return f"the {what}{of}"
        return f"nothing is presented{of}"

    def _user_name(self) -> str:
        context = getattr(self._loader, "_current_context", None)
        name = context["context"].safe_get("user") if context else None
        return f"user {cut(clean(str(name)), 100)}" if name else "the user"


CredentialSource: TypeAlias = InCluster | Kubeconfig

_PRESENTED: Final = {
    "token": "token",
    "tokenFile": "token file",
    "client-certificate-data": "client certificate",
    "client-certificate": "client certificate",
    "username": "password",
}
"""The credentials that a kubeconfig user may have, in the library's order of preference."""


class Credentials:
    def __init__(self, source: CredentialSource, configuration: "Configuration") -> None:
        self._source = source
        self.configuration = configuration
        self._loaded_at = self._refreshed_at = boot_seconds()
        self._refreshing: asyncio.Task[None] | None = None
        self._reloading = asyncio.Lock()

    @classmethod
    async def load(cls, source: CredentialSource) -> "Credentials":
        """Load from a source; ConfigurationError says what is wrong with it, and the remedy."""
        return cls(source, await _load(source))

    @property
    def in_cluster(self) -> bool:
        return isinstance(self._source, InCluster)

    @property
    def renewal(self) -> str:
        return self._source.renewal()

    @property
    def host(self) -> str:
        return (self.configuration.host or "").rstrip("/")

    async def headers(self) -> dict[str, str]:
        if boot_seconds() - self._refreshed_at >= _REFRESH_SECONDS and self._refreshing is None:
            # Not awaited: lease traffic must not wait for a plugin.
            self._refreshed_at = boot_seconds()
            self._refreshing = asyncio.create_task(self._refresh())
        try:
            settings = await self.configuration.auth_settings()
        except Exception as error:  # noqa: BLE001 - the hook reads files and raises what it likes
            raise ConfigurationError(f"cannot read the token: {_error_text(error)}") from None
        value = settings.get("BearerToken", {}).get("value")
        # The mounted token may end in a newline, which a header must not contain.
        return {"Authorization": value.strip()} if value else {}

    async def _refresh(self) -> None:
        try:
            async with asyncio.timeout(_LOAD_SECONDS):
                await self._source.refresh(self.configuration)
        except Exception as error:  # noqa: BLE001 - plugins raise anything; the old token is kept
            log.warning("token_refresh_failed", cause=_error_text(error))
        finally:
            self._refreshing = None

    async def reload(self) -> bool:
        """Reload the whole configuration after a refusal; True if that happened."""
        asked = boot_seconds()
        async with self._reloading:
            if self._loaded_at > asked:
                return True  # another request reloaded it while we waited
            if boot_seconds() - self._loaded_at < _RELOAD_SECONDS:
                return False
            self._loaded_at = boot_seconds()
            try:
                self.configuration = await _load(self._source)
            except ConfigurationError as error:
                log.warning("credentials_reload_failed", cause=str(error))
                return False
            self._loaded_at = self._refreshed_at = boot_seconds()
            return True

    async def aclose(self) -> None:
        task = self._refreshing
        if task is not None:
            task.cancel()
            await asyncio.wait([task])


async def _load(source: CredentialSource) -> "Configuration":
    try:
        async with asyncio.timeout(_LOAD_SECONDS):
            return await source.load()
    except TimeoutError:
        raise ConfigurationError(
            f"the credential plugin of the kubeconfig did not finish within {_LOAD_SECONDS:.0f} s"
        ) from None
    except ConfigurationError:
        raise
    except Exception as error:  # noqa: BLE001 - ConfigException, YAML, OSError, TypeError, ...
        raise ConfigurationError(
            f"the cluster's configuration cannot be used: {_error_text(error)}; "
            "check --kubeconfig, KUBECONFIG and --context"
        ) from None


def _error_text(error: BaseException) -> str:
    if isinstance(error, (AssertionError, AttributeError, LookupError, TypeError)):
        # The library raises these without a useful message.
        return "it is not well-formed; a context must name a cluster and a user of the file"
    if isinstance(error, OSError) and error.filename and error.strerror:
        name = clean(str(error.filename))
        # Of everything named here, only a credential plugin is looked up on PATH.
        hint = "" if os.sep in name else "; install this credential plugin, or put it on PATH"
        return f"{cut(name, 200)}: {error.strerror}{hint}"
    return cut(clean(str(error)), 300) or type(error).__name__


_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def choose_source(
    kubeconfig: Path | None,
    context: str | None,
    environment: Mapping[str, str] = os.environ,
    *,
    home: Path | None = None,
    service_account: Path = _SERVICE_ACCOUNT,
) -> CredentialSource:
    """Choose the first of --kubeconfig, KUBECONFIG, our pod's service account, ~/.kube/config."""
    if kubeconfig is not None:
        if not kubeconfig.is_file():
            raise ConfigurationError(f"--kubeconfig {kubeconfig}: there is no such file")
        return Kubeconfig(str(kubeconfig), context)
    if named := environment.get("KUBECONFIG"):
        if not any(Path(part).expanduser().is_file() for part in named.split(os.pathsep) if part):
            raise ConfigurationError(f"KUBECONFIG names {named}: there is no such file")
        return Kubeconfig(named, context)
    if context is None and environment.get("KUBERNETES_SERVICE_HOST") and service_account.exists():
        return InCluster()
    default = (home or Path.home()) / ".kube" / "config"
    if default.is_file():
        return Kubeconfig(str(default), context)
    raise ConfigurationError(
        "no cluster: name a kubeconfig with --kubeconfig or KUBECONFIG, or run in a cluster"
    )


def context_names(kubeconfig: Path | None) -> tuple[str, ...]:
    """Return the names of the kubeconfig's contexts, in file order; several files are merged."""
    source = choose_source(kubeconfig, None)
    if not isinstance(source, Kubeconfig):
        raise ConfigurationError(
            "there are no contexts in a pod; name a kubeconfig with --kubeconfig"
        )
    names: list[str] = []
    for path in (Path(part).expanduser() for part in source.paths.split(os.pathsep) if part):
        try:
            content = read_yaml(decoded(path.read_bytes())) if path.is_file() else None
        except (OSError, Unreadable) as error:
            raise ConfigurationError(f"{path}: {cut(clean(str(error)), 200)}") from None
        found = content.get("contexts") if isinstance(content, dict) else None
        names += [
            each["name"]
            for each in (found if isinstance(found, list) else ())
            if isinstance(each, dict) and isinstance(each.get("name"), str)
        ]
    if not names:
        raise ConfigurationError(f"{source.paths}: there are no contexts")
    return tuple(dict.fromkeys(names))
