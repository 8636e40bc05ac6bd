"""Failures in the API server's form: Status objects with code, reason and details."""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.sandbox.objects import JSON, Object, encode

OPTIMISTIC_LOCK = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class ApiError(Exception):
    """The request fails and is answered by a Status object."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Object | None = None,
        metadata: Object | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.metadata = metadata or {}
        self.retry_after = retry_after

    def status(self) -> Object:
        """Return the Status object of this failure."""
        status: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


class UnknownPathError(Exception):
    """The path belongs to no served group; the answer is plain text, not a Status."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused field; `kind` is the cause's reason, such as FieldValueInvalid."""

    kind: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def invalid_value(field: str, value: JSON, detail: str) -> FieldError:
    shown = "null" if value is None else encode(value).decode()
    return FieldError("FieldValueInvalid", field, f"Invalid value: {shown}: {detail}")


def required_value(field: str, detail: str = "") -> FieldError:
    return FieldError(
        "FieldValueRequired", field, "Required value" + (f": {detail}" if detail else "")
    )


def forbidden_value(field: str, detail: str) -> FieldError:
    """Return the error of a field that may not be set, or not to this value."""
    return FieldError("FieldValueForbidden", field, f"Forbidden: {detail}")


def unsupported_value(field: str, value: JSON, allowed: Sequence[JSON]) -> FieldError:
    """Return the error of a field with a value outside its enumeration."""
    names = ", ".join(f'"{item}"' for item in allowed)
    return FieldError(
        "FieldValueNotSupported",
        field,
        f"Unsupported value: {encode(value).decode()}: supported values: {names}",
    )


def _qualified(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name


def _details(group: str, kind: str, name: str) -> Object:
    details = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in details.items() if value}


def invalid(group: str, kind: str, name: str, *, errors: Sequence[FieldError]) -> ApiError:
    """422: the object breaks rules of its kind."""
    unique = list(dict.fromkeys(errors))
    text = ", ".join(str(error) for error in unique)
    if len(unique) > 1:
        text = f"[{text}]"
    details = _details(group, kind, name)
    details["causes"] = [
        {"reason": error.kind, "message": error.message, "field": error.field} for error in unique
    ]
    return ApiError(
        422, "Invalid", f'{_qualified(kind, group)} "{name}" is invalid: {text}', details=details
    )


def _about(
    code: int, reason: str, place: tuple[str, str, str], *, before: str = "", after: str
) -> ApiError:
    """Return a failure with texts around the object: its group, its plural or kind, its name."""
    group, plural, name = place
    shown = f'{_qualified(plural, group)} "{name}"' if name else _qualified(plural, group)
    details = _details(group, plural, name)
    return ApiError(code, reason, f"{before}{shown}{after}", details=details)


def not_found(group: str, plural: str, name: str) -> ApiError:
    """404: no such object."""
    return _about(404, "NotFound", (group, plural, name), after=" not found")


def already_exists(group: str, plural: str, name: str) -> ApiError:
    """409: the object to create exists."""
    return _about(409, "AlreadyExists", (group, plural, name), after=" already exists")


def conflict(group: str, plural: str, name: str, *, cause: str = OPTIMISTIC_LOCK) -> ApiError:
    """409: the object is not in the state that the request assumes."""
    place, before = (group, plural, name), "Operation cannot be fulfilled on "
    return _about(409, "Conflict", place, before=before, after=f": {cause}")


def forbidden(group: str, plural: str, name: str, *, cause: str) -> ApiError:
    """403: not allowed, by rules or by the state of the namespace."""
    return _about(403, "Forbidden", (group, plural, name), after=f" is forbidden: {cause}")


def unreadable_patch(why: str) -> ApiError:
    """422: the patched object cannot be decoded; a real server quotes all of it."""
    error = invalid_value("patch", "<object>", why)
    cause = {"reason": error.kind, "message": error.message, "field": error.field}
    return ApiError(422, "Invalid", f' "" is invalid: {error}', details={"causes": [cause]})


def bad_request(message: str) -> ApiError:
    """400: the request cannot be understood."""
    return ApiError(400, "BadRequest", message)


class DecodeError(ApiError):
    """400: the decoder refuses a body; `why` is its message without the prefix."""

    def __init__(self, version: str, kind: str, why: str) -> None:
        message = f'{kind} in version "{version}" cannot be handled as a {kind}: {why}'
        super().__init__(400, "BadRequest", message)
        self.why = why


def invalid_options(kind: str, errors: Sequence[FieldError]) -> ApiError:
    """422: query parameters that contradict each other."""
    return invalid("meta.k8s.io", kind, "", errors=errors)


def expired(message: str, *, resume: str = "") -> ApiError:
    """410: the requested version has been compacted."""
    return ApiError(410, "Expired", message, metadata={"continue": resume} if resume else {})


def too_large(asked: int, current: int, *, retry: bool = True) -> ApiError:
    """504: the server has not reached the requested version."""
    details: Object = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        **({"retryAfterSeconds": 1} if retry else {}),
    }
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {current}",
        details=details,
        retry_after=1 if retry else None,
    )


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    """415: the endpoint does not accept the format of the body."""
    return ApiError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted),
    )


def not_acceptable() -> ApiError:
    """406: none of the accepted representations is available."""
    return ApiError(
        406,
        "NotAcceptable",
        "only the following media types are accepted: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf",
    )


def undeclared(namespace: str, name: str, api_version: str, *, kind: str, path: str) -> ApiError:
    """500: the applied object has a field that the schema lacks; the first one is named."""
    place = f"{namespace}/{name}" if namespace else f"/{name}"
    return ApiError(
        500,
        "",
        f"failed to create typed patch object ({place}; {api_version}, Kind={kind}): "
        f".{path}: field not declared in schema",
    )


def unknown_resource() -> ApiError:
    """404: the group is served, but not with this version, resource or subresource."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def method_not_allowed() -> ApiError:
    """405: the resource exists, the verb does not."""
    return ApiError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        details={},
    )


def unauthorized() -> ApiError:
    """401: the token is missing or wrong."""
    return ApiError(401, "Unauthorized", "Unauthorized")
