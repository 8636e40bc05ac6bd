"""Faults that real controllers show: what is changed, and what must be reported."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from e2e.cluster.suite.runnable import AGENT, PLACE, STORE, container
from e2e.stage import Stage
from lab.sandbox.objects import Object, decode, encode, meta

STATEFUL_SETS: Final = "statefulsets.apps"
DEPLOYMENTS: Final = "deployments.apps"

MODEL: Final = "phi-4-mini"
"""The model of the sample that has one pod."""

PODS: Final = ("inferencesetModelPodsNotReady", "inferenceset/{namespace}/" + MODEL)
KAITO: Final = ("clusterKaitoControllerNotReady", "cluster")
MODEL_PODS: Final = (STATEFUL_SETS, "{namespace}", "phi-4-mini-dbr9r")

_PICKER: Final = (DEPLOYMENTS, "{namespace}", "phi-4-mini-inferencepool-epp")
_PLACES: Final = {
    "model": (PODS, MODEL_PODS),
    "picker": (("inferencesetEPPNotReady", PODS[1]), _PICKER),
    "controller": (KAITO, (DEPLOYMENTS, "kaito-system", "kaito-workspace")),
    "store": (STORE, (STATEFUL_SETS, PLACE, "store")),
    "agent": (AGENT, ("daemonsets.apps", PLACE, "agent")),
}
"""What is reported of each, and the object: its resource, namespace and name."""


@dataclass(frozen=True)
class Fault:
    """A row of `faults.yaml`: the patch is of the object `where`."""

    name: str
    key: tuple[str, str]
    words: str
    where: tuple[str, str, str]
    patch: Object
    with_objects: tuple[Object, ...]
    first: str
    ready: bool


def _read(row: Object) -> Fault:
    key, where = _PLACES[row.get("at", "model")]
    pod = dict(row.get("pod", {}))
    if "container" in row:
        pod["containers"] = [container(**row["container"])]
    if "init" in row:
        pod["initContainers"] = [container(**row["init"])]
    if "volume" in row:
        pod["volumes"] = [{"name": "weights", **row["volume"]}]
        mounts = [{"name": "weights", "mountPath": "/weights"}]
        pod["containers"] = [container(volumeMounts=mounts)]
    spec = row.get("spec", {}) | ({"template": {"spec": pod}} if pod else {})
    return Fault(
        name=row["name"],
        key=tuple(row.get("key", key)),
        words=row["words"],
        where=where,
        patch={"spec": spec},
        with_objects=tuple(row.get("with", ())),
        first=row.get("first", ""),
        ready=row.get("ready", True),
    )


FAULTS: Final = tuple(
    _read(row) for row in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
)


def named(text: str, namespace: str) -> str:
    """Return a text of the table with the namespace of the test."""
    return text.format(namespace=namespace)


@asynccontextmanager
async def put_in(stage: Stage, fault: Fault, namespace: str) -> AsyncIterator[None]:
    """Change what the fault changes, and restore everything at the end, with new pods."""
    resource, place, name = fault.where
    place = named(place, namespace)
    for obj in fault.with_objects:
        own: Object = decode(encode(obj).replace(b"{namespace}", namespace.encode()))
        if (await stage.api.resource_of(own)).namespaced:
            meta(own)["namespace"] = namespace
        await stage.api.install(own)
    before = await stage.api.get(resource, name, namespace=place)
    await stage.api.patch(resource, name, fault.patch, namespace=place)
    try:
        yield
    finally:
        for obj in fault.with_objects:
            kind = await stage.api.resource_of(obj)
            await stage.api.delete(kind.name, meta(obj)["name"], namespace=namespace)
        before.pop("status")
        for each in ("resourceVersion", "managedFields", "generation", "uid"):
            meta(before).pop(each, None)
        stage.kubectl("replace", "-f", "-", stdin=json.dumps(before))
        if resource == STATEFUL_SETS:
            # Its controller keeps a pod of the broken template (kubernetes/kubernetes#67250).
            stage.kubectl("-n", place, "delete", "pod", f"{name}-0", "--wait=false")
