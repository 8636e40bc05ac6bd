"""JSON patch (RFC 6902) and merge patch (RFC 7386)."""

from lab.sandbox.errors import ApiError, bad_request
from lab.sandbox.objects import JSON, copy_json


def merge_patch(target: JSON, patch: JSON) -> JSON:
    """Apply a merge patch; the target is not changed."""
    if not isinstance(patch, dict):
        return copy_json(patch)
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def json_patch(target: JSON, operations: JSON) -> JSON:
    """Apply a JSON patch to a copy.

    Raises:
        ApiError: 400 if it is malformed, 422 if it does not apply to the object.
    """
    if not isinstance(operations, list):
        raise bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type "
            "jsonpatch.Patch"
        )
    result = copy_json(target)
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise bad_request("error decoding patch: an operation needs op and path")
        try:
            result = _apply(result, operation)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise ApiError(
                422,
                "Invalid",
                f"the server rejected our request due to an error in our request: "
                f"{operation.get('op')} operation does not apply: {error}",
            ) from None
    return result


def _pointer(text: str) -> list[str]:
    if not text:
        return []
    if not text.startswith("/"):
        raise ValueError(f"bad path {text}")
    return [part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/")]


def _apply(document: JSON, operation: dict[str, JSON]) -> JSON:
    path = _pointer(operation["path"])
    match operation.get("op"):
        case "add":
            return _add(document, path, copy_json(operation["value"]))
        case "replace":
            if path and not isinstance(_get(document, path[:-1]), dict):
                document = _remove(document, path)[0]
            # In an object, it also adds a missing member.
            return _add(document, path, copy_json(operation["value"]))
        case "remove":
            return _remove(document, path)[0]
        case "test":
            if _get(document, path) != operation.get("value"):
                raise ValueError(f"testing path {operation['path']} failed")
            return document
        case "copy":
            value = _get(document, _pointer(operation["from"]))
            return _add(document, path, copy_json(value))
        case "move":
            remaining, value = _remove(document, _pointer(operation["from"]))
            return _add(remaining, path, value)
        case other:
            raise ValueError(f"unexpected kind: {other}")


def _index(container: list[JSON], part: str, *, last: int) -> int:
    index = int(part)
    if not 0 <= index <= last or (part != "0" and part.startswith(("0", "+"))):
        raise IndexError(f"index {part} of a list of {len(container)}")
    return index


def _step(container: JSON, part: str) -> JSON:
    if isinstance(container, dict):
        return container[part]
    if isinstance(container, list):
        return container[_index(container, part, last=len(container) - 1)]
    raise KeyError(part)


def _get(document: JSON, path: list[str]) -> JSON:
    for part in path:
        document = _step(document, part)
    return document


def _add(document: JSON, path: list[str], value: JSON) -> JSON:
    if not path:
        return value
    container = _get(document, path[:-1])
    if isinstance(container, list):
        if path[-1] == "-":
            container.append(value)
        else:
            container.insert(_index(container, path[-1], last=len(container)), value)
    elif isinstance(container, dict):
        container[path[-1]] = value
    else:
        raise KeyError(path[-1])
    return document


def _remove(document: JSON, path: list[str]) -> tuple[JSON, JSON]:
    if not path:
        return None, document
    container = _get(document, path[:-1])
    value = _step(container, path[-1])
    if isinstance(container, list):
        container.pop(int(path[-1]))
    else:
        del container[path[-1]]
    return document, value
