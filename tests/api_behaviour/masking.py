"""What differs between any two servers, replaced by what it stands for."""

import re
from typing import Any

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_AGE = re.compile(r"(\d+[smhdy]){1,2}")
_IN_TEXTS = (
    (re.compile(r"current: \d+"), "current: <version>"),
    (re.compile(r"(too old[a-z ]*: \d+) \(\d+\)"), r"\1 (<version>)"),
    (re.compile(r"in (the precondition|record) \(\d+\)"), r"in \1 (<version>)"),
    (re.compile(r'Invalid value: "\{.*\}":', re.DOTALL), 'Invalid value: "<object>":'),
    (re.compile(r'User "[^"]+"'), 'User "<user>"'),
)
_LEFT_OUT = {"description", "storageVersionHash", "time"}
"""Texts of columns and hashes of discovery, which the sandbox does not have; when a field was written."""

_TIMES = {"creationTimestamp", "deletionTimestamp"}
_COLLECTIONS = {"items", "rows", "groups"}


def _manager(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(entry.get(name, "") for name in ("operation", "manager", "subresource"))


class Masks:
    """Masks for one conversation: equal uids and versions of objects stay recognizable as equal."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self._seen: dict[str, dict[str, str]] = {"uid": {}, "version": {}}

    def body(
        self, value: Any, key: str = "", *, collective: bool = False, bookmark: bool = False
    ) -> Any:
        """A decoded body."""
        if isinstance(value, dict):
            bookmark = bookmark or value.get("type") == "BOOKMARK"
            # The version of a list moves with every write of anybody, that of an object with its own.
            if key != "metadata":
                collective = bool(_COLLECTIONS & value.keys()) or (key == "object" and collective)
            return {
                name: self.body(item, name, collective=collective, bookmark=bookmark)
                for name, item in value.items()
                if name not in _LEFT_OUT
            }
        if isinstance(value, list):
            items = [self.body(item, key, bookmark=bookmark) for item in value]
            # Their order depends on whether two writes fell into the same second.
            return sorted(items, key=_manager) if key == "managedFields" else items
        if isinstance(value, str):
            return self._string(value, key, collective=collective or bookmark)
        # Some servers spread clients over a second or two.
        return "<seconds>" if key == "retryAfterSeconds" else value

    def _string(self, value: str, key: str, *, collective: bool) -> str:
        if key in _TIMES:
            return "<time>"
        if key == "continue" and value:
            return "<token>"
        if key == "cells" and _AGE.fullmatch(value):
            return "<age>"
        if key == "resourceVersion" and value.isdecimal() and value != "0":
            return "<version of the list>" if collective else self._nth("version", value)
        return self.text(_UID.sub(lambda found: self._nth("uid", found[0]), value))

    def text(self, value: Any) -> Any:
        """Any value: what is masked wherever it stands."""
        if isinstance(value, dict):
            return {name: self.text(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self.text(item) for item in value]
        if isinstance(value, str):
            for name, shown in self._names.items():
                value = value.replace(name, shown)
            for pattern, shown in _IN_TEXTS:
                value = pattern.sub(shown, value)
        return value

    def _nth(self, kind: str, value: str) -> str:
        seen = self._seen[kind]
        return seen.setdefault(value, f"<{kind} {len(seen) + 1}>")
