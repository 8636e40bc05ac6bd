"""The demo's sample production stack: the healthy example, as if created a moment ago."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from lab.sandbox.loading import flatten
from lab.sandbox.objects import JSON, Object
from reporter.model.instant import rfc3339
from reporter.snapshot.documents import Document, read_documents

AGE: Final = timedelta(minutes=20)
"""The stack's pretended age: old enough to be settled, young enough for Ready Events."""

_PACKAGED: Final = Path(__file__).parent / "healthy-stack"
_CHECKOUT: Final = Path(__file__).resolve().parents[2] / "examples" / "healthy-stack"
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def folder() -> Path:
    """Return the folder of the documents: in the installed package, else in the checkout."""
    return _PACKAGED if _PACKAGED.is_dir() else _CHECKOUT


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def served(group_version: str, **plurals: str) -> Object:
    """Return an APIResourceList that makes a sandbox serve namespaced kinds with a status."""
    resources = [
        {"name": name, "kind": kind, "namespaced": True}
        for plural, kind in plurals.items()
        for name in (plural, f"{plural}/status")
    ]
    return {
        "apiVersion": "v1",
        "kind": "APIResourceList",
        "groupVersion": group_version,
        "resources": resources,
    }


def load_stack(now: datetime) -> list[JSON]:
    """Return the documents with every time set to `AGE` before `now`."""
    moment = rfc3339(now - AGE)
    documents = read_documents([folder()])
    objects = flatten(each.value for each in documents if isinstance(each, Document))
    return [_retimed(each, moment) for each in objects if each.get("kind") != "Event"]


def _retimed(value: JSON, moment: str) -> JSON:
    if isinstance(value, str):
        return moment if _TIME.fullmatch(value) else value
    if isinstance(value, list):
        return [_retimed(each, moment) for each in value]
    if isinstance(value, dict):
        return {key: _retimed(each, moment) for key, each in value.items()}
    return value


def deployment(
    namespace: str, name: str, container: Object, *, labels: Mapping[str, str], **pod: JSON
) -> Object:
    """Return a Deployment of one pod; it and its pods have the labels, `pod` adds to their spec."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], **pod},
            },
        },
    }


def controller(namespace: str, name: str, *, image: str, labels: Mapping[str, str]) -> Object:
    return deployment(namespace, name, {"name": "manager", "image": image}, labels=labels)


def present() -> str:
    """Return the time as the API writes it."""
    return rfc3339(datetime.now(UTC))


def told_by(namespace: str, gateway: str, conditions: Sequence[Object]) -> Object:
    """Return what the controller of a Gateway says in the status of a route or a pool."""
    reference: JSON = {
        "group": "gateway.networking.k8s.io", "kind": "Gateway",
        "name": gateway, "namespace": namespace,
    }  # fmt: skip
    parent: JSON = {
        "parentRef": reference,
        "controllerName": "istio.io/gateway-controller",
        "conditions": [*conditions],
    }
    return {"parents": [parent]}
