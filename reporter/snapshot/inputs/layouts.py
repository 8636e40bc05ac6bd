"""Turns the values of a file into documents, by the layout of the folder that it is in.

Support bundles (`cluster-resources/`) have the layout of replicatedhq/troubleshoot,
pkg/collect/cluster_resources.go (v0.133.0, and the differences in v0.9): lists of most kinds in
`<kinds>/<namespace>.json`, cluster-scoped ones in `<kinds>.json`; custom resources as bare lists in
`custom-resources/<crd>/<namespace>.json` (`.yaml` in older ones); failures in
`<kinds>-errors.json`, as texts by namespace; and discovery in `resources.json`.

Folders of `oc adm must-gather` and `oc adm inspect` have the layout of openshift/oc,
pkg/cli/admin/inspect (resource.go, util.go, namespace.go, pod.go; release-4.16):
`namespaces/<namespace>/<group>/<plural>.yaml` has a list,
`namespaces/<namespace>/<group>/<plural>/<name>.yaml` an object, with `core` for the core group;
`cluster-scoped-resources/` is the same without namespaces;
`namespaces/<namespace>/<namespace>.yaml` is the namespace, and
`namespaces/<namespace>/pods/<pod>/<pod>.yaml` a pod that ran. Other files below `pods/` are
responses of containers, and logs.

`kubectl cluster-info dump` is one stream, in the format of kubernetes/kubernetes,
staging/src/k8s.io/kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go (v1.30): the lists of each
namespace, then for each container a line `==== START logs for container <c> of pod <ns>/<p> ====`,
its log, and a line `==== END logs ... ====`. A log need not end with a line break, so the second
mark may be in the middle of a line. With `--output-directory` each list has a file
(`<namespace>/pods.json`), and the logs of a pod are in `<namespace>/<pod>/logs.txt`, between the
same marks.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from reporter.model.evidence import ContainerLog
from reporter.snapshot.dump_served import part
from reporter.snapshot.inputs.files import LogFile, last_lines
from reporter.yaml_reader.limits import Unreadable

FOLDER: Final = "cluster-resources"


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
    "custom-resource-definitions": (
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions",
    ),
}  # fmt: skip
"""apiVersion, kind and plural, by the name of the file or folder."""


def place_in_bundle(path: PurePosixPath) -> tuple[str, ...] | None:
    parts = path.with_suffix("").parts
    if FOLDER not in parts[:-1]:
        return None
    return parts[parts.index(FOLDER) + 1 :]


@dataclass(slots=True)
class SupportBundle:
    _discovery: list[object] = field(default_factory=list)
    _discovery_failed: bool = False
    _definitions: dict[str, tuple[str, str]] = field(default_factory=dict)
    _has_custom: bool = False
    _custom_failed: set[str] = field(default_factory=set)

    def documents(self, place: tuple[str, ...], value: object) -> Iterator[object]:
        match place:
            case ("groups-resources-errors",):
                self._discovery_failed |= bool(value)
            case ("resources",):
                found = (each for each in _entries(value) if isinstance(each, dict))
                kind = {"kind": "APIResourceList", "apiVersion": "v1"}
                self._discovery.extend({**each, **kind} for each in found)
            case (name,) if name.endswith(_ERRORS):
                yield from _failures(name.removesuffix(_ERRORS), value)
            case ("custom-resources", "custom-resources-errors"):
                yield from self._custom_failures(value)
            case ("custom-resources", *_):
                self._has_custom = True
                yield from value if isinstance(value, list) else (value,)
            case ("custom-resource-definitions" as name,):
                self._define(value)
                yield from _as_list(name, value)
            case (name, *rest) if name in _KINDS and (rest or isinstance(value, dict)):
                yield from _as_list(name, value)
            case (name,) if name in _KINDS:
                yield from _each(name, value)
            case _:
                # API groups, permissions, and kinds that are not read.
                return

    def _define(self, value: object) -> None:
        for each in _entries(value.get("items") if isinstance(value, dict) else value):
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
        """Yield the documents that are only known once all files have been read.

        A bundle has files only for kinds with objects: if custom resources were collected, a kind
        that has neither a file nor a failure has no objects.
        """
        if not self._discovery_failed:
            yield from self._discovery
        if self._has_custom:
            for name in sorted(self._definitions.keys() - self._custom_failed):
                group, kind = self._definitions[name]
                yield {"apiVersion": f"{group}/v1", "kind": f"{kind}List", "items": []}


def _entries(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _as_list(name: str, value: object) -> Iterator[object]:
    version, kind, _ = _KINDS[name]
    if isinstance(value, list):
        yield {"apiVersion": version, "kind": f"{kind}List", "items": value}
    else:
        yield value


def _each(name: str, items: object) -> Iterator[object]:
    """Yield the objects of a bare list as single objects: they may have been requested by name."""
    version, kind, _ = _KINDS[name]
    for item in _entries(items):
        yield {"apiVersion": version, "kind": kind, **item} if isinstance(item, dict) else item


def _failures(name: str, value: object) -> Iterator[object]:
    """Yield a Status for a kind whose list failed in some namespace."""
    if name in _KINDS and value:
        version, _, plural = _KINDS[name]
        yield failure(plural, version.rpartition("/")[0], _texts(value))


def failure(plural: str, group: str, message: str) -> dict[str, object]:
    reason = "Forbidden" if "forbidden" in message.lower() else "InternalError"
    details = {"group": group, "kind": plural} if group else {"kind": plural}
    return {
        "apiVersion": "v1", "kind": "Status", "status": "Failure",
        "reason": reason, "message": message, "details": details,
    }  # fmt: skip


def _texts(value: object) -> str:
    texts = list(value.values()) if isinstance(value, dict) else value
    return "; ".join(map(str, texts)) if isinstance(texts, list) else str(texts)


@dataclass(slots=True)
class Layouts:
    """Turns the files of one source into documents, by the layout of the tool that wrote them.

    Values in a bundle that are not objects are left out. Only at the end is it known whether a
    source is a bundle, so doubtful values wait for `rest`.
    """

    _bundle: SupportBundle = field(default_factory=SupportBundle)
    _is_known: bool = False
    _doubtful: list[tuple[str, object]] = field(default_factory=list)

    def documents(
        self, source: str, path: PurePosixPath, values: Iterator[object]
    ) -> Iterator[object]:
        place = place_in_bundle(path)
        gathered = is_gathered(path)
        self._is_known |= place is not None or gathered
        for value in values:
            if isinstance(value, Unreadable):
                if place is None and not gathered:
                    self._doubtful.append((source, value))
                else:
                    yield value
            elif place is not None:
                yield from self._bundle.documents(place, value)
            else:
                yield from self._objects(source, value, gathered=gathered)

    def _objects(self, source: str, value: object, *, gathered: bool) -> Iterator[object]:
        # Some tools write the objects as a bare JSON list.
        bare = isinstance(value, list) and any(map(_is_object, value))
        for each in value if isinstance(value, list) and bare else (value,):
            if gathered or _is_object(each):
                yield each
            else:
                self._doubtful.append((source, each))

    def rest(self) -> Iterator[tuple[str, object]]:
        """Yield, with their file, the values that are only known once all files have been read."""
        yield from (("", each) for each in self._bundle.rest())
        if not self._is_known:
            yield from self._doubtful


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and "kind" in value and "apiVersion" in value


def is_gathered(path: PurePosixPath) -> bool:
    parts = path.with_suffix("").parts
    for folder, depths in (("cluster-scoped-resources", (2, 3)), ("namespaces", (3, 4))):
        if folder in parts:
            match parts[parts.index(folder) + 1 :]:
                case (name, again) | (_, "pods", name, again) if name == again:
                    return True
                case (_, "pods", *_):
                    return False
                case rest:
                    return len(rest) in depths
    return False


_MARK: Final = b"==== START logs for container "
_START: Final = re.compile(
    rb"^==== START (logs for container (\S+) of pod ([^\s/]+)/(\S+) ====)\r?\n", re.MULTILINE
)


def without_logs(raw: bytes) -> bytes:
    """Return a `cluster-info dump` stream without its logs; other content is returned unchanged.

    If a log's end mark is missing, the rest is dropped: it cannot be distinguished from the log.
    """
    if _MARK not in raw:
        return raw
    kept: list[bytes] = []
    position = 0
    while start := _START.search(raw, position):
        kept.append(raw[position : start.start()])
        end = raw.find(b"==== END " + start.group(1), start.end())
        if end < 0:
            return b"".join(kept)
        line = raw.find(b"\n", end)
        position = len(raw) if line < 0 else line + 1
    kept.append(raw[position:])
    return b"".join(kept)


def logs_in(source: str, raw: bytes) -> Iterator[LogFile]:
    """Yield the logs between the marks of such a stream."""
    position = 0
    while start := _START.search(raw, position):
        # A START mark within a log is part of the log.
        end = raw.find(b"==== END " + start.group(1), start.end())
        position = len(raw) if end < 0 else end
        container, namespace, pod = (each.decode("utf-8", "replace") for each in start.groups()[1:])
        tail = last_lines(raw[start.end() : position])
        yield LogFile(source, PurePosixPath(source), tail, ContainerLog(namespace, pod, container))
