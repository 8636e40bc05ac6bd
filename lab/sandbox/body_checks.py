"""Whether a body fits the path it was sent to."""

from lab.sandbox.errors import DecodeError, bad_request, conflict
from lab.sandbox.metadata import type_error
from lab.sandbox.objects import JSON, Object, dig, meta, name_of
from lab.sandbox.resources import Resource


def check_type(resource: Resource, body: JSON) -> None:
    """Refuse a body whose kind is not that of the path."""
    if not isinstance(body, dict):
        raise bad_request("the body of the request is not an object")
    if not resource.custom:
        # Typed endpoints accept a body that does not state its type.
        body["apiVersion"] = body.get("apiVersion") or resource.api_version
        body["kind"] = body.get("kind") or resource.kind
    version, kind = body.get("apiVersion") or "", body.get("kind") or ""
    if not kind:
        raise bad_request("Object 'Kind' is missing in the request body")
    if version != resource.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version"
            f" ({resource.api_version})"
        )
    if kind != resource.kind:
        raise bad_request(
            f'{kind} in version "{resource.version}" cannot be handled as a'
            f' {resource.kind}: no kind "{kind}" is registered at this path'
        )


def settle_namespace(resource: Resource, namespace: str, body: Object) -> None:
    """Set a body's namespace from its path, or refuse a different one."""
    why = type_error(resource.kind, body)
    if why:
        raise DecodeError(resource.version, resource.kind, why)
    given = meta(body).get("namespace")
    if not resource.namespaced:
        meta(body).pop("namespace", None)
    elif given and given != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    else:
        meta(body)["namespace"] = namespace


def check_name(name: str, body: Object) -> None:
    """Set a body's name from its path, or refuse a different one."""
    given = name_of(body)
    if not given:
        meta(body)["name"] = name
    elif given != name:
        raise bad_request(
            f"the name of the object ({given}) does not match the name on the URL ({name})"
        )


def check_patch(body: JSON) -> None:
    """Refuse a patch that is not an object."""
    if not isinstance(body, dict):
        raise bad_request(
            "error decoding patch: json: cannot unmarshal array into Go value of type "
            "map[string]interface {}"
        )


def check_uid(resource: Resource, obj: Object, stored: str) -> None:
    """Refuse a write that is meant for another object of the same name."""
    given = str(dig(obj, "metadata", "uid") or "")
    if given and given != stored:
        raise conflict(
            resource.group,
            resource.plural,
            name_of(obj),
            cause=f"Precondition failed: UID in precondition: {given}, UID in object meta: {stored}",
        )
