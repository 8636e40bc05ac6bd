"""The simple JSONPath that printer columns and scale paths use."""

import re

from lab.sandbox.objects import JSON, Object

_TOKEN = re.compile(
    r"\.?(?P<name>(?:[A-Za-z0-9_$-]|\\.)+)"
    r"|\[(?P<index>-?\d+|\*)\]"
    r"|\[['\"](?P<quoted>[^'\"]+)['\"]\]"
    r"|\[\?\(@\.(?P<key>(?:[A-Za-z0-9_.-]|\\.)+)\s*==\s*['\"](?P<value>[^'\"]*)['\"]\)\]"
)


def find(document: JSON, path: str) -> list[JSON]:
    """Return all values at a path; empty if the path is not supported."""
    path = path.strip().strip("{}").removeprefix("$")
    values = [document]
    position = 0
    while position < len(path):
        match = _TOKEN.match(path, position)
        if match is None:
            return []
        position = match.end()
        values = [found for value in values for found in _step(value, match)]
    return values


def first(document: JSON, path: str) -> JSON:
    """Return the first value at a path, or None."""
    return next(iter(find(document, path)), None)


def _step(value: JSON, match: re.Match[str]) -> list[JSON]:
    name = match["name"] or match["quoted"]
    if name is not None:
        name = name.replace("\\", "")
        return [value[name]] if isinstance(value, dict) and name in value else []
    if not isinstance(value, list):
        return list(value.values()) if match["index"] == "*" and isinstance(value, dict) else []
    if match["key"] is not None:
        return [
            item for item in value if match["value"] in map(str, find(item, "." + match["key"]))
        ]
    if match["index"] == "*":
        return list(value)
    index = int(match["index"])
    return [value[index]] if -len(value) <= index < len(value) else []


def put(document: Object, path: str, value: JSON) -> None:
    """Set the value at a path of plain names, making objects on the way."""
    *parents, last = path.strip(".").split(".")
    for name in parents:
        document = document.setdefault(name, {})
    document[last] = value
