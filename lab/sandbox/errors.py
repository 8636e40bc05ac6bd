"""Failures in the API server's form: Status objects with code, reason and details."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from lab.sandbox.objects import JSON, Object, encode

OPTIMISTIC_LOCK = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class ApiError(Exception):
    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Object | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after = retry_after

    def status(self) -> Object:
        status: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        return {**status, "code": self.code}


class UnknownPathError(Exception):
    """The path belongs to no served group; the answer is plain text, not a Status."""


@dataclass(frozen=True, slots=True)
class FieldError:
    """One refused field; `reason` is that of the cause, such as FieldValueInvalid."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def invalid_value(field: str, value: JSON, detail: str) -> FieldError:
    shown = "null" if value is None else encode(value).decode()
    return FieldError("FieldValueInvalid", field, f"Invalid value: {shown}: {detail}")


def required_value(field: str, detail: str = "") -> FieldError:
    message = f"Required value: {detail}" if detail else "Required value"
    return FieldError("FieldValueRequired", field, message)


def forbidden_value(field: str, detail: str) -> FieldError:
    """Return the error of a field that may not be set, or not to this value."""
    return FieldError("FieldValueForbidden", field, f"Forbidden: {detail}")


def unsupported_value(field: str, value: JSON, allowed: Sequence[JSON]) -> FieldError:
    names = ", ".join(f'"{item}"' for item in allowed)
    detail = f"{encode(value).decode()}: supported values: {names}"
    return FieldError("FieldValueNotSupported", field, f"Unsupported value: {detail}")


def invalid(group: str, kind: str, name: str, *, errors: Sequence[FieldError]) -> ApiError:
    unique = list(dict.fromkeys(errors))
    text = ", ".join(map(str, unique))
    after = f' "{name}" is invalid: {f"[{text}]" if len(unique) > 1 else text}'
    error = _about(422, "Invalid", (group, kind, ""), after=after)
    details = _details(group, kind, name)
    error.details = {**details, "causes": [asdict(each) for each in unique]}
    return error


def _details(group: str, kind: str, name: str) -> Object:
    details = {"name": name, "group": group, "kind": kind}
    return {key: value for key, value in details.items() if value}


def _about(
    code: int, reason: str, place: tuple[str, str, str], *, before: str = "", after: str
) -> ApiError:
    """Return a failure with texts around the object: its group, its plural or kind, its name."""
    group, plural, name = place
    shown = (f"{plural}.{group}" if group else plural) + (f' "{name}"' if name else "")
    return ApiError(code, reason, f"{before}{shown}{after}", details=_details(*place))


def not_found(group: str, plural: str, name: str) -> ApiError:
    return _about(404, "NotFound", (group, plural, name), after=" not found")


def already_exists(group: str, plural: str, name: str) -> ApiError:
    return _about(409, "AlreadyExists", (group, plural, name), after=" already exists")


def conflict(group: str, plural: str, name: str, *, cause: str = OPTIMISTIC_LOCK) -> ApiError:
    """409: the object is not in the state that the request assumes."""
    place, before = (group, plural, name), "Operation cannot be fulfilled on "
    return _about(409, "Conflict", place, before=before, after=f": {cause}")


def forbidden(group: str, plural: str, name: str, *, cause: str) -> ApiError:
    """403: not allowed, by rules or by the state of the namespace."""
    return _about(403, "Forbidden", (group, plural, name), after=f" is forbidden: {cause}")


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


class DecodeError(ApiError):
    """400: the decoder refuses a body."""

    def __init__(self, version: str, kind: str, why: str) -> None:
        message = f'{kind} in version "{version}" cannot be handled as a {kind}: {why}'
        super().__init__(400, "BadRequest", message)


def invalid_options(kind: str, error: FieldError) -> ApiError:
    """422: query parameters that contradict each other."""
    return invalid("meta.k8s.io", kind, "", errors=[error])


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def too_large(asked: int, current: int) -> ApiError:
    """504: the server has not reached the requested version."""
    text = "Too large resource version"
    causes = [{"reason": "ResourceVersionTooLarge", "message": text}]
    details = {"causes": causes, "retryAfterSeconds": 1}
    message = f"Timeout: {text}: {asked}, current: {current}"
    return ApiError(504, "Timeout", message, details=details, retry_after=1)


def unsupported_media_type(accepted: Sequence[str]) -> ApiError:
    text = "the body of the request was in an unknown format - accepted media types include: "
    return ApiError(415, "UnsupportedMediaType", text + ", ".join(accepted))


def not_acceptable() -> ApiError:
    text = "only the following media types are accepted: application/json, application/yaml, "
    return ApiError(406, "NotAcceptable", text + "application/vnd.kubernetes.protobuf")


def undeclared(namespace: str, name: str, api_version: str, *, kind: str, path: str) -> ApiError:
    """500: the applied object has a field that the schema lacks; the first one is named."""
    about = f"({namespace}/{name}; {api_version}, Kind={kind})"
    text = f"failed to create typed patch object {about}: .{path}: field not declared in schema"
    return ApiError(500, "", text)


def unknown_resource() -> ApiError:
    """404: the group is served, but not with this version, resource or subresource."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def method_not_allowed() -> ApiError:
    text = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", text, details={})


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")
