"""The part of kubernetes_asyncio that is used, without the rest of it.

The library's packages import all of their generated client, 830 modules for all kinds of the API:
32 MB and a fifth of a second for nothing, as list, watch and writes are our own. Here the
modules for configuration and transport are imported below bare packages, which leave nothing
behind: whoever imports kubernetes_asyncio afterwards gets the whole.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from reporter.kube.errors import ConfigurationError

if TYPE_CHECKING:
    from kubernetes_asyncio.client import ApiClient, Configuration

_ROOT: Final = "kubernetes_asyncio"
_BARE: Final = (_ROOT, f"{_ROOT}.client", f"{_ROOT}.client.models")


@dataclass(frozen=True, slots=True)
class Library:
    """What is used of kubernetes_asyncio."""

    configuration: "type[Configuration]"
    api_client: "type[ApiClient]"
    config: Any


@lru_cache(maxsize=1)
def library() -> Library:
    """Import what is used, once.

    Raises:
        ConfigurationError: kubernetes_asyncio is not installed.

    """
    spec = importlib.util.find_spec(_ROOT)
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError("kubernetes_asyncio is not installed; reinstall the reporter")
    with _bare_packages(Path(spec.submodule_search_locations[0])):
        client = sys.modules[f"{_ROOT}.client"]
        configuration = importlib.import_module(f"{_ROOT}.client.configuration").Configuration
        client.__dict__["Configuration"] = configuration
        api_client = importlib.import_module(f"{_ROOT}.client.api_client").ApiClient
        client.__dict__["ApiClient"] = api_client
        config = importlib.import_module(f"{_ROOT}.config")
        return Library(configuration, api_client, config)


@contextmanager
def _bare_packages(folder: Path) -> Iterator[None]:
    """Put packages in place that import nothing, and take them and their modules out again."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_ours(name)}
    for name in _BARE:
        module = ModuleType(name)
        module.__path__ = [str(folder.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            sys.modules[parent].__dict__[child] = module
    try:
        yield
    finally:
        for name in [name for name in sys.modules if _is_ours(name)]:
            del sys.modules[name]
        sys.modules.update(before)


def _is_ours(name: str) -> bool:
    return name == _ROOT or name.startswith(f"{_ROOT}.")
