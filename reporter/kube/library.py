"""Imports only the part of kubernetes_asyncio that we use.

The library's packages import its whole generated client, 860 modules for all kinds of the API. We
need only its configuration and its connections: lists, watches and writes are our own. Importing
only these saves a third of a small daemon's resident memory, and time at startup.

The modules are imported below empty stand-in packages, which are removed again: a later import of
kubernetes_asyncio gets the whole library. Only this module knows the library's layout.
"""

import importlib
import importlib.util
import sys
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final, Protocol, cast

from reporter.kube.errors import ConfigurationError

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.client.rest import RESTClientObject
    from kubernetes_asyncio.config.kube_config import KubeConfigLoader

_ROOT: Final = "kubernetes_asyncio"
_BARE: Final = (_ROOT, f"{_ROOT}.client", f"{_ROOT}.client.models")
_UNUSED: Final = "urllib3"
"""Only for basic authentication, which API servers dropped in Kubernetes 1.19."""


class Config(Protocol):
    def load_incluster_config(self, *, client_configuration: "Configuration") -> None: ...

    def load_kube_config(
        self,
        *,
        config_file: str,
        context: str | None,
        client_configuration: "Configuration",
        persist_config: bool,
    ) -> "Awaitable[KubeConfigLoader]": ...


@dataclass(frozen=True, slots=True)
class Library:
    configuration: "type[Configuration]"
    rest_client: "type[RESTClientObject]"
    config: Config


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
    return Library(configuration, rest_client, cast("Config", config))


@contextmanager
def _bare_packages(folder: Path) -> Iterator[None]:
    """Install packages that import nothing; on exit remove them and their modules again."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_ours(name)}
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
        for name in [name for name in sys.modules if _is_ours(name)]:
            del sys.modules[name]
        sys.modules.update(before)


def _is_ours(name: str) -> bool:
    return name.partition(".")[0] in {_ROOT, _UNUSED}
