"""Discovery in both forms, and enough of OpenAPI v3 for kubectl to leave validation to the server."""

import hashlib

from lab.sandbox.errors import unknown_resource
from lab.sandbox.objects import Object, encode
from lab.sandbox.representation import media_types
from lab.sandbox.resources import Registry, Resource

_AGGREGATED_VERSION = "v2"
_SUBRESOURCE_VERBS = ["get", "patch", "update"]

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


def aggregated_version(accept: str) -> str | None:
    """Return the version of the aggregated form that a client accepts, empty for the legacy form.

    None if the client accepts neither.
    """
    for name, parameters in media_types(accept) or [("*/*", {})]:
        if name not in {"application/json", "*/*"}:
            continue
        if "as" not in parameters:
            return ""
        wanted = tuple(parameters.get(key) for key in ("as", "g", "v"))
        if wanted == ("APIGroupDiscoveryList", "apidiscovery.k8s.io", _AGGREGATED_VERSION):
            return _AGGREGATED_VERSION
    return None


def aggregated(registry: Registry, version: str, *, core: bool) -> bytes:
    """Return the APIGroupDiscoveryList of `/api` or `/apis`."""
    groups = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [
                {
                    "version": served,
                    "resources": [
                        _aggregated_resource(item) for item in registry.resources(group, served)
                    ],
                    "freshness": "Current",
                }
                for served in versions
            ],
        }
        for group, versions in registry.versions().items()
        if (group == "") is core
    ]
    return encode(
        {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{version}",
            "metadata": {},
            "items": groups,
        }
    )


def etag(document: bytes) -> str:
    return '"' + hashlib.sha512(document).hexdigest().upper() + '"'


def _aggregated_resource(resource: Resource) -> Object:
    found: Object = {
        "resource": resource.plural,
        "responseKind": _kind(resource),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular_name,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    subresources = []
    if resource.scale is not None:
        scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
        subresources.append(
            {"subresource": "scale", "responseKind": scale, "verbs": _SUBRESOURCE_VERBS}
        )
    if resource.status:
        subresources.append(
            {"subresource": "status", "responseKind": _kind(resource), "verbs": _SUBRESOURCE_VERBS}
        )
    if subresources:
        found["subresources"] = subresources
    return found


def _kind(resource: Resource) -> Object:
    # Since 1.36 built-in kinds leave group and version empty if they equal those of the path.
    group, version = (resource.group, resource.version) if resource.custom else ("", "")
    return {"group": group, "version": version, "kind": resource.kind}


def legacy(registry: Registry, path: list[str]) -> Object | None:
    """Return the document of a path below `/api` and `/apis`, which has only the legacy form.

    None for other paths.

    Raises:
        ApiError: 404 for an unknown version of a built-in group.
    """
    match path:
        case ["api", "v1"]:
            return resources(registry, "", "v1")
        case ["apis", name]:
            return group(registry, name)
        case ["apis", name, version]:
            found = resources(registry, name, version)
            if found is None and registry.is_built_in(name):
                raise unknown_resource()
            return found
        case _:
            return None


def core_versions() -> Object:
    """Return the legacy answer of `/api`."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def groups(registry: Registry) -> Object:
    """Return the legacy answer of `/apis`."""
    found = [_group(name, versions) for name, versions in registry.versions().items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": found}


def group(registry: Registry, name: str) -> Object | None:
    """Return the legacy answer of `/apis/<group>`."""
    versions = registry.versions().get(name)
    if not name or versions is None:
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def _group(name: str, versions: list[str]) -> Object:
    served = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": served, "preferredVersion": served[0]}


def resources(registry: Registry, group_name: str, version: str) -> Object | None:
    """Return the APIResourceList of one version of a group."""
    served = registry.resources(group_name, version)
    if not served:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": served[0].api_version,
        "resources": [entry for resource in served for entry in _entries(resource)],
    }


def _entries(resource: Resource) -> list[Object]:
    main: Object = {
        "name": resource.plural,
        "singularName": resource.singular_name,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        main["shortNames"] = list(resource.short_names)
    if resource.categories:
        main["categories"] = list(resource.categories)
    entries = [main]
    base: Object = {
        "singularName": "",
        "namespaced": resource.namespaced,
        "verbs": _SUBRESOURCE_VERBS,
    }
    if resource.scale is not None:
        scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
        entries.append({"name": f"{resource.plural}/scale", **base, **scale})
    if resource.status:
        entries.append({"name": f"{resource.plural}/status", **base, "kind": resource.kind})
    return entries


def openapi_index(registry: Registry) -> Object:
    """Return the answer of `/openapi/v3`: the URLs of each group and version."""
    paths = {}
    for group, versions in registry.versions().items():
        for version in versions:
            path = f"apis/{group}/{version}" if group else f"api/{version}"
            content = encode(openapi_document(registry, group, version))
            digest = hashlib.sha512(content).hexdigest().upper()
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
    return {"paths": paths}


def openapi_document(registry: Registry, group: str, version: str) -> Object | None:
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
