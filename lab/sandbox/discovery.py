"""Discovery, and enough of OpenAPI v3 for kubectl to leave validation to the server.

The kinds of `/api` and `/apis` are listed in the aggregated form only, those of one version of a
group in the older one.
"""

from collections.abc import Iterator

from lab.sandbox.errors import not_acceptable, unknown_resource
from lab.sandbox.objects import Object, encode
from lab.sandbox.representation import json_forms
from lab.sandbox.resources import Registry, Resource

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
VERSION: Object = {
    "major": "1",
    "minor": "33",
    "gitVersion": "v1.33.0+sandbox",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
_FORM = {"as": "APIGroupDiscoveryList", "g": "apidiscovery.k8s.io", "v": "v2"}
_SUBRESOURCE_VERBS = ["get", "patch", "update"]
_SCALE = {"group": "autoscaling", "version": "v1", "kind": "Scale"}


def aggregated(registry: Registry, accept: str, *, core: bool) -> bytes:
    """Return the APIGroupDiscoveryList of `/api` or `/apis`; ApiError 406 for another form."""
    if not any(_FORM.items() <= parameters.items() for parameters in json_forms(accept)):
        raise not_acceptable()
    groups = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [
                {
                    "version": version,
                    "resources": [*map(_aggregated, registry.resources(group, version))],
                    "freshness": "Current",
                }
                for version in versions
            ],
        }
        for group, versions in registry.versions().items()
        if (group == "") is core
    ]
    kind: Object = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2"}
    return encode({**kind, "metadata": {}, "items": groups})


def _aggregated(resource: Resource) -> Object:
    # Since 1.36 built-in kinds leave group and version empty if they equal those of the path.
    group, version = (resource.group, resource.version) if resource.custom else ("", "")
    kind = {"group": group, "version": version, "kind": resource.kind}
    found: Object = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular_name,
        **_names(resource),
    }
    kinds = [("scale", _SCALE)] * (resource.scale is not None) + [
        ("status", kind)
    ] * resource.status
    subresources = [
        {"subresource": name, "responseKind": each, "verbs": _SUBRESOURCE_VERBS}
        for name, each in kinds
    ]
    return {**found, "subresources": subresources} if subresources else found


def _names(resource: Resource) -> Object:
    names: Object = {
        "verbs": list(resource.verbs),
        "shortNames": list(resource.short_names),
        "categories": list(resource.categories),
    }
    return {field: value for field, value in names.items() if value}


def resources(registry: Registry, group: str, version: str) -> Object | None:
    """Return the APIResourceList of one version of a group; ApiError 404 if only it is unknown."""
    served = registry.resources(group, version)
    if not served:
        if registry.is_built_in(group):
            raise unknown_resource()
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": served[0].api_version,
        "resources": [entry for resource in served for entry in _entries(resource)],
    }


def _entries(resource: Resource) -> Iterator[Object]:
    plural, scope = resource.plural, {"namespaced": resource.namespaced}
    main = {"name": plural, "singularName": resource.singular_name, "kind": resource.kind}
    yield {**main, **scope, **_names(resource)}
    below: Object = {"singularName": "", "verbs": _SUBRESOURCE_VERBS, **scope}
    if resource.scale is not None:
        yield {**below, "name": f"{plural}/scale", **_SCALE}
    if resource.status:
        yield {**below, "name": f"{plural}/status", "kind": resource.kind}


def openapi_index(registry: Registry) -> Object:
    """Return the answer of `/openapi/v3`: the URLs of each group and version."""
    paths = {}
    for group, versions in registry.versions().items():
        for version in versions:
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}"}
    return {"paths": paths}


def openapi_document(registry: Registry, group: str, version: str) -> Object | None:
    served = registry.resources(group, version)
    if not served:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "sandbox"},
        "paths": dict(map(_path, served)),
        "components": {"schemas": dict(map(_schema, served))},
    }


def _path(resource: Resource) -> tuple[str, Object]:
    group, version = resource.group, resource.version
    base = f"/apis/{group}/{version}" if group else f"/api/{version}"
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    # From this parameter of the PATCH kubectl concludes that the server validates.
    parameter = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
    patch = {
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": _type_of(resource),
        "parameters": [parameter],
        "responses": {},
    }
    return f"{base}{scope}/{resource.plural}/{{name}}", {"patch": patch}


def _schema(resource: Resource) -> tuple[str, Object]:
    reverse = ".".join(reversed((resource.group or "core").split(".")))
    schema = resource.schema or {"type": "object"}
    types = [_type_of(resource)]
    name = f"{reverse}.{resource.version}.{resource.kind}"
    return name, {**schema, "x-kubernetes-group-version-kind": types}


def _type_of(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}
