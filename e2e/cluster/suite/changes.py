"""Inject a fault into the cluster, and remove it again."""

import json

from e2e.cluster.suite.faults import Fault
from e2e.stage import Stage
from lab.sandbox.objects import Object, copy_json, decode, encode, meta, name_of


def named(text: str, namespace: str) -> str:
    """Return a text of the table with the namespace of the test."""
    return text.format(namespace=namespace)


async def put_in(stage: Stage, fault: Fault, namespace: str) -> Object:
    """Change what the fault changes, and return the former object."""
    resource, place, name = fault.where
    place = named(place, namespace)
    for obj in fault.with_objects:
        own: Object = decode(encode(obj).replace(b"{namespace}", namespace.encode()))
        kind = await stage.api.resource_of(own)
        if kind.namespaced:
            meta(own)["namespace"] = namespace
        status = own.pop("status", None)
        await stage.api.apply(own)
        if status:
            await stage.api.patch(kind.name, name_of(own), {"status": status}, subresource="status")
    before = await stage.api.get(resource, name, namespace=place)
    await stage.api.patch(resource, name, fault.patch, namespace=place)
    return before


async def mend(stage: Stage, fault: Fault, before: Object, *, namespace: str) -> None:
    """Restore everything, with new pods."""
    for obj in fault.with_objects:
        resource = await stage.api.resource_of(obj)
        await stage.api.delete(resource.name, name_of(obj), namespace=namespace)
    restored = copy_json(before)
    restored.pop("status")
    for field in ("resourceVersion", "managedFields", "generation", "uid"):
        meta(restored).pop(field, None)
    stage.kubectl("replace", "-f", "-", stdin=json.dumps(restored))
    resource, place, name = fault.where
    if resource.startswith("statefulsets"):
        # Its controller does not replace a pod of the broken template (kubernetes/kubernetes#67250).
        stage.kubectl("-n", named(place, namespace), "delete", "pod", f"{name}-0", "--wait=false")
