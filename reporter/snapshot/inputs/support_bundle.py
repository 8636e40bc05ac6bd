"""Support bundles of troubleshoot.sh: what stands in `cluster-resources/`, as documents of a dump.

The layout is that of replicatedhq/troubleshoot, pkg/collect/cluster_resources.go (v0.133.0, and
what differed in v0.9): lists of most kinds in `<kinds>/<namespace>.json`, cluster-scoped ones in
`<kinds>.json`; custom resources as bare lists in `custom-resources/<crd>/<namespace>.json` (`.yaml` in
older ones); what failed in `<kinds>-errors.json`, as texts by namespace; and discovery in
`resources.json`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from reporter.snapshot.dump_served import part

FOLDER: Final = "cluster-resources"
_CUSTOM: Final = "custom-resources"
_DEFINITIONS: Final = "custom-resource-definitions"
_DISCOVERY: Final = "resources"
_DISCOVERY_ERRORS: Final = "groups-resources-errors"
_ERRORS: Final = "-errors"

_KINDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "namespaces": ("v1", "Namespace", "namespaces"),
    "nodes": ("v1", "Node", "nodes"),
    "pods": ("v1", "Pod", "pods"),
    "services": ("v1", "Service", "services"),
    "events": ("v1", "Event", "events"),
    "configmaps": ("v1", "ConfigMap", "configmaps"),
    "serviceaccounts": ("v1", "ServiceAccount", "serviceaccounts"),
    "deployments": ("apps/v1", "Deployment", "deployments"),
    "statefulsets": ("apps/v1", "StatefulSet", "statefulsets"),
    "daemonsets": ("apps/v1", "DaemonSet", "daemonsets"),
    _DEFINITIONS: (
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions",
    ),
}  # fmt: skip
"""By the name of their file or folder: apiVersion, kind and plural."""


def place_in_bundle(path: PurePosixPath) -> tuple[str, ...] | None:
    """Return the path of a file below `cluster-resources`, without its ending; None if it is elsewhere."""
    parts = path.with_suffix("").parts
    if FOLDER not in parts[:-1]:
        return None
    return parts[parts.index(FOLDER) + 1 :]


@dataclass(slots=True)
class SupportBundle:
    """What the files of a bundle say together."""

    _discovery: list[object] = field(default_factory=list)
    _discovery_failed: bool = False
    _definitions: dict[str, tuple[str, str]] = field(default_factory=dict)
    _has_custom: bool = False
    _custom_failed: set[str] = field(default_factory=set)

    def documents(self, place: tuple[str, ...], value: object) -> Iterator[object]:
        """Yield what a value of a file is as documents; some wait for `rest`."""
        match place:
            case (name,) if name == _DISCOVERY_ERRORS:
                self._discovery_failed |= bool(value)
            case (name,) if name == _DISCOVERY:
                self._discovery.extend(_api_resources(value))
            case (name,) if name.endswith(_ERRORS):
                yield from _failures(name.removesuffix(_ERRORS), value)
            case (name, errors) if name == _CUSTOM and errors == _CUSTOM + _ERRORS:
                yield from self._custom_failures(value)
            case (name, *_) if name == _CUSTOM:
                self._has_custom = True
                yield from value if isinstance(value, list) else (value,)
            case (name,) if name == _DEFINITIONS:
                self._define(value)
                yield from _as_list(name, value)
            case (name, *rest) if name in _KINDS and (rest or isinstance(value, dict)):
                yield from _as_list(name, value)
            case (name,) if name in _KINDS:
                yield from _each(name, value)
            case _:
                # Groups, permissions, and kinds of which nothing is read.
                return

    def _define(self, value: object) -> None:
        items = value.get("items") if isinstance(value, dict) else value
        for each in items if isinstance(items, list) else ():
            name, group = part(each, "metadata", "name"), part(each, "spec", "group")
            kind = part(each, "spec", "names", "kind")
            if isinstance(name, str) and isinstance(group, str) and isinstance(kind, str):
                self._definitions[name] = group, kind

    def _custom_failures(self, value: object) -> Iterator[object]:
        for name, text in (value if isinstance(value, dict) else {}).items():
            definition = str(name).partition("/")[0]
            self._custom_failed.add(definition)
            plural, _, group = definition.partition(".")
            if group:
                yield failure(plural, group, str(text))

    def rest(self) -> Iterator[object]:
        """Yield what can only be told once all files were read.

        The objects of every definition are listed over the whole cluster, and a file is written
        only where there are some. So where custom resources were collected, the kinds that neither
        have a file nor failed have no objects.
        """
        if not self._discovery_failed:
            yield from self._discovery
        if self._has_custom:
            for name in sorted(self._definitions.keys() - self._custom_failed):
                group, kind = self._definitions[name]
                yield {"apiVersion": f"{group}/v1", "kind": f"{kind}List", "items": []}


def _as_list(name: str, value: object) -> Iterator[object]:
    """Yield a list with its type, which old bundles leave out."""
    version, kind, _ = _KINDS[name]
    if isinstance(value, list):
        yield {"apiVersion": version, "kind": f"{kind}List", "items": value}
    else:
        yield value


def _each(name: str, items: object) -> Iterator[object]:
    """Yield the objects of a bare list: those that were asked for by name prove nothing of others."""
    version, kind, _ = _KINDS[name]
    for item in items if isinstance(items, list) else ():
        yield {"apiVersion": version, "kind": kind, **item} if isinstance(item, dict) else item


def _api_resources(value: object) -> Iterator[object]:
    for each in value if isinstance(value, list) else ():
        if isinstance(each, dict):
            yield {**each, "kind": "APIResourceList", "apiVersion": "v1"}


def _failures(name: str, value: object) -> Iterator[object]:
    """Yield a Status for a kind of which the list of any namespace failed."""
    if name in _KINDS and value:
        version, _, plural = _KINDS[name]
        yield failure(plural, version.rpartition("/")[0], _texts(value))


def failure(plural: str, group: str, message: str) -> dict[str, object]:
    """Return the Status of a list that failed."""
    reason = "Forbidden" if "forbidden" in message.lower() else "InternalError"
    details = {"group": group, "kind": plural} if group else {"kind": plural}
    return {
        "apiVersion": "v1", "kind": "Status", "status": "Failure",
        "reason": reason, "message": message, "details": details,
    }  # fmt: skip


def _texts(value: object) -> str:
    texts = list(value.values()) if isinstance(value, dict) else value
    return "; ".join(map(str, texts)) if isinstance(texts, list) else str(texts)
