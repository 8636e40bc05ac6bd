"""A minimal OpenAPI v3: enough for kubectl to leave validation to the server."""

import hashlib

from lab.sandbox.objects import Object, encode
from lab.sandbox.registry import Registry
from lab.sandbox.resources import Resource


def index(registry: Registry) -> Object:
    """Return the answer of `/openapi/v3`: the URLs of each group and version."""
    paths = {}
    for group, versions in registry.versions().items():
        for version in versions:
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            content = encode(document(registry, group, version))
            digest = hashlib.sha512(content).hexdigest().upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def document(registry: Registry, group: str, version: str) -> Object | None:
    """Return the description of one version of a group."""
    served = registry.resources(group, version)
    if not served:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "sandbox"},
        "paths": dict(_path(resource) for resource in served),
        "components": {"schemas": {_schema_name(item): _schema(item) for item in served}},
    }


def _path(resource: Resource) -> tuple[str, Object]:
    group, version = resource.group, resource.version
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    kind = {"group": group, "version": version, "kind": resource.kind}
    answer = {"$ref": f"#/components/schemas/{_schema_name(resource)}"}
    responses = {"200": {"description": "OK", "content": {"application/json": {"schema": answer}}}}
    # From this parameter of the PATCH kubectl concludes that the server validates.
    parameter = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
    operations = {
        method: {
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind,
            "parameters": [parameter] if method == "patch" else [],
            "responses": responses,
        }
        for method, action in (("get", "get"), ("patch", "patch"))
    }
    return f"{base}{scope}/{resource.plural}/{{name}}", operations


def _schema_name(resource: Resource) -> str:
    reverse = ".".join(reversed((resource.group or "core").split(".")))
    return f"{reverse}.{resource.version}.{resource.kind}"


def _schema(resource: Resource) -> Object:
    schema: Object = dict(resource.schema or {"type": "object"})
    schema["x-kubernetes-group-version-kind"] = [
        {"group": resource.group, "version": resource.version, "kind": resource.kind}
    ]
    return schema
