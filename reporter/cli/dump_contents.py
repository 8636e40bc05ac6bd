"""The files of a dump: a list for each resource that was read, and what tells of the others."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from reporter.catalogue.resources import GATEWAYS, NAMESPACES, NODES
from reporter.kube.collecting import Collection
from reporter.kube.errors import ApiStatusError, KubeError
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.snapshot.outputs.archive import DumpHeader, Json, Member
from reporter.snapshot.outputs.masking import Masking, Redaction, Vocabulary, learn_objects
from reporter.snapshot.snapshot import ResourceState
from reporter.version import version

HEADER: Final = "dump.json"
SERVED: Final = "served.json"
REFUSED: Final = "refused.json"

_REPLACED: Final[Mapping[Resource[KubeObject], str]] = {
    NAMESPACES: "namespace", NODES: "node", GATEWAYS: "gateway",
}  # fmt: skip
"""Resources whose names are replaced as a whole, besides those of models, and by what."""


def members_of(
    collection: Collection, now: datetime, redaction: Redaction | None = None
) -> list[Member]:
    """Return the files of a dump that was complete at a moment, with other names if asked for."""
    documents = _documents(collection, now, redaction)
    return [Member.of_documents(name, each) for name, each in documents.items()]


def redaction_of(collection: Collection, known: Vocabulary) -> Redaction:
    """Return what replaces the names of everything that was read."""
    redaction = Redaction(known)
    redaction.learn_name("namespace", collection.namespace)
    for name in collection.discovered.versions:
        redaction.learn_text(name)
    for resource, objects in collection.objects.items():
        noun = "model" if resource.subject_kind else _REPLACED.get(resource)
        if noun:
            learn_objects(redaction, noun, objects)
    for objects in collection.objects.values():
        redaction.learn(objects)
    return redaction


def _documents(
    collection: Collection, now: datetime, redaction: Redaction | None
) -> dict[str, list[Json]]:
    discovery = collection.discovered.discovery
    text: Callable[[str], str] = redaction.text if redaction else str
    header = DumpHeader.of(
        _states(collection, text),
        discovery,
        now,
        version=version(),
        redacted=redaction is not None,
        namespace=text(collection.namespace),
    )
    files: dict[str, list[Json]] = {HEADER: [header.document()]}
    if discovery.served is not None:
        files[SERVED] = list(_api_resources(collection, redaction))
    if collection.failures:
        files[REFUSED] = [_status(*each) for each in collection.failures.items()]
    masking = Masking()
    for resource, objects in collection.objects.items():
        version_read = collection.versions.get(resource, resource.versions[0])
        kept = masking.masked(objects)
        listed = _list(resource, version_read, redaction.redacted(kept) if redaction else kept)
        files.setdefault(f"{resource}.json", []).append(listed)
    return files


def _states(
    collection: Collection, text: Callable[[str], str]
) -> dict[Resource[KubeObject], ResourceState]:
    """Return the states; the rights that are missing name the one namespace that was read."""
    return {
        each: replace(state, permission=text(state.permission)) if collection.namespace else state
        for each, state in collection.states.items()
    }


def _list(resource: Resource[KubeObject], version_read: str, objects: object) -> Json:
    """Return a typed list, which tells that it was looked for even where it is empty."""
    group_version = f"{resource.group}/{version_read}" if resource.group else version_read
    typed = {"apiVersion": group_version, "kind": resource.kind}
    items = objects if isinstance(objects, list) else []
    return {
        "apiVersion": group_version,
        "kind": f"{resource.kind}List",
        "items": [{**typed, **each} for each in items if isinstance(each, dict)],
    }


def _api_resources(collection: Collection, redaction: Redaction | None) -> Iterator[Json]:
    """Yield what is served as the API server itself says it, by group and version."""
    plurals: dict[str, set[str]] = defaultdict(set)
    for found, versions in collection.discovered.versions.items():
        name = redaction.text(found) if redaction else found
        plural, _, group = name.partition(".")
        for each in versions:
            plurals[f"{group}/{each}" if group else each].add(plural)
    for group_version, names in sorted(plurals.items()):
        resources = [{"name": name} for name in sorted(names)]
        yield {
            "apiVersion": "v1",
            "kind": "APIResourceList",
            "groupVersion": group_version,
            "resources": resources,
        }


def _status(resource: Resource[KubeObject], error: KubeError) -> Json:
    """Return the refusal of a list in the API server's shape, without the name of who asked."""
    code = error.status if isinstance(error, ApiStatusError) else 503
    reason = (error.reason if isinstance(error, ApiStatusError) else "") or "ServiceUnavailable"
    details = {"group": resource.group} if resource.group else {}
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": f"{resource} could not be listed",
        "reason": reason,
        "details": {**details, "kind": resource.plural},
        "code": code,
    }
