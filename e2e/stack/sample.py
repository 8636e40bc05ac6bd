"""The sample stack as a user would create it: `examples/healthy-stack` without what controllers and
the API server add.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final

import yaml

from lab.demo.modelserving import load_crd
from lab.demo.sample_stack import AGE, load_stack
from lab.demo.story import CHAT, CODE, SEARCH
from lab.sandbox.objects import JSON, Object, copy_json, decode, encode, meta, name_of, namespace_of
from lab.sandbox.workloads import owner_reference

_CRDS: Final = Path(__file__).resolve().parent.parent / "crds.yaml"

INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"

OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
"""A schema that takes any object."""

WORKLOADS: Final = (CHAT, CODE, SEARCH)
"""The workload namespaces of the sample."""

SHARED: Final = ("istio-system", "kaito-system", "keda", "llm-gateway-auth")
"""The namespaces of the control plane."""

_ORDER: Final = ("Namespace", "Node", "GatewayClass", "Gateway", "InferenceSet", "Workspace")


def crds() -> list[Object]:
    """Return the CustomResourceDefinitions: ours, and the one in the chart."""
    return [copy_json(each) for each in _crds()]


@cache
def _crds() -> tuple[Object, ...]:
    """Return them, cached: every test needs them, and reading takes a tenth of a second."""
    rows = yaml.safe_load(_CRDS.read_text())
    del rows["shared"]
    return (*(definition(name, **row) for name, row in rows.items()), load_crd())


def definition(
    name: str,
    kind: str,
    versions: Sequence[str],
    schema: Object,
    *,
    scope: str = "Namespaced",
    scale: Object | None = None,
    columns: Sequence[Object] = (),
    **names: Sequence[str],
) -> Object:
    """Return a CustomResourceDefinition whose versions are the same; the first is stored.

    Args:
        name: such as `workspaces.kaito.sh`.
        kind: of the objects.
        versions: all are served.
        schema: of the objects; types that follow from `properties` and `items` may be missing.
        scope: of the objects.
        scale: paths of the subresource.
        columns: additional printer columns.
        names: further names of the kind, such as `shortNames`.
    """
    plural, _, group = name.partition(".")
    metadata: Object = {"name": name}
    if group.endswith("k8s.io"):
        metadata["annotations"] = {"api-approved.kubernetes.io": "unapproved, for tests"}
    own: Object = {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "singular": kind.lower(),
    }
    version: Object = {
        "served": True,
        "subresources": {"status": {}} | ({"scale": scale} if scale else {}),
        "schema": {"openAPIV3Schema": _typed(schema)},
    } | ({"additionalPrinterColumns": [*columns]} if columns else {})
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": group,
            "scope": scope,
            "names": own | names,
            "versions": [
                {**version, "name": each, "storage": each == versions[0]} for each in versions
            ],
        },
    }


def _typed(schema: JSON) -> JSON:
    if isinstance(schema, list):
        return [_typed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    typed = {key: _typed(each) for key, each in schema.items()}
    for key, type_ in (
        ("items", "array"),
        ("properties", "object"),
        ("additionalProperties", "object"),
    ):
        if isinstance(schema.get(key), dict):
            typed.setdefault("type", type_)
    return typed


def shared() -> list[Object]:
    """Return the control plane: nodes, classes, and the content of its namespaces."""
    return _prepared(
        obj
        for obj in _stack()
        if (name_of(obj) if obj["kind"] == "Namespace" else namespace_of(obj)) in ("", *SHARED)
    )


def workload(namespace: str, like: str = CHAT) -> list[Object]:
    """Return the workload namespace `like`, with its content, under another name."""
    own = (
        obj
        for obj in _stack()
        if like in (namespace_of(obj), name_of(obj) if obj["kind"] == "Namespace" else "")
    )
    return _prepared(_renamed(obj, like, namespace) for obj in own)


def _stack() -> list[Object]:
    """Return all objects, with every time at the present."""
    found = load_stack(datetime.now(UTC) + AGE)
    return [obj for obj in found if obj["kind"] != "CustomResourceDefinition"]


def _prepared(objects: Iterable[Object]) -> list[Object]:
    """Return what is to be created, owners before dependents."""
    found = list(objects)
    pods = [obj for obj in found if obj["kind"] == "Pod"]
    rest = [obj for obj in found if obj["kind"] != "Pod"]
    return sorted([*rest, *_stateful_sets(pods)], key=_rank)


def _rank(obj: Object) -> int:
    return _ORDER.index(obj["kind"]) if obj["kind"] in _ORDER else len(_ORDER)


def _renamed(value: Object, old: str, new: str) -> Object:
    """Return an object with a name replaced everywhere."""
    renamed: Object = decode(encode(value).replace(old.encode(), new.encode()))
    return renamed


def _stateful_sets(pods: Sequence[Object]) -> Iterable[Object]:
    """Yield the StatefulSets that own pods of the sample.

    The pods of Deployments need nothing: their controller creates them.
    """
    by_owner: dict[tuple[str, str], list[Object]] = {}
    for pod in pods:
        for owner in meta(pod).get("ownerReferences") or ():
            if owner.get("controller") and owner["kind"] == "StatefulSet":
                by_owner.setdefault((namespace_of(pod), owner["name"]), []).append(pod)
    for (namespace, name), owned in by_owner.items():
        yield _stateful_set(namespace, name, owned)


def _stateful_set(namespace: str, name: str, pods: Sequence[Object]) -> Object:
    of_index = (INDEX_LABEL, NAME_LABEL)
    labels = {key: each for key, each in meta(pods[0])["labels"].items() if key not in of_index}
    workspace = {"apiVersion": "kaito.sh/v1beta1", "kind": "Workspace"}
    owners = [owner_reference({**workspace, "metadata": {"name": name, "uid": ""}})]
    place = {"name": name, "namespace": namespace}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {**place, "labels": labels, "ownerReferences": owners},
        "spec": {
            "replicas": len(pods),
            "serviceName": f"{name}-headless",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pods[0]["spec"]},
        },
    }
