"""The whole of what the operator makes, of kinds of which else only some fields are read."""

import hashlib
import secrets
from typing import Final

from msgspec.structs import force_setattr

from reporter.model.objects import KubeObject
from reporter.stacks.otterscale.objects import Json

MASKED: Final = "masked-"
"""What stands in a dump for what may be a credential."""

_KEY: Final = secrets.token_bytes(16)
_HIDDEN: Final = f"hidden-{secrets.token_hex(4)}-"
"""Nobody can guess it, so that no value of a user's is taken for it."""


def hidden(value: str) -> str:
    """Return what stands for the value of a variable: the same for the same, in this process."""
    # What stands for a value stands for itself: an object may be read again, as by `check --with`.
    if value.startswith((MASKED, _HIDDEN)):
        return value
    digest = hashlib.blake2b(value.encode("utf-8", "replace"), key=_KEY, digest_size=8)
    return f"{_HIDDEN}{digest.hexdigest()}"


HARMLESS_HEADERS: Final = frozenset(
    {"accept", "content-type", "host", "otterscale-model-name", "user-agent"}
)
"""Headers whose values are no secrets, in lower case; that of any other may be what lets a request in."""

_HEADERS: Final = frozenset({"headers", "httpHeaders", "set", "add"})
"""Lists of headers: those of matches and probes, and those that a filter of a route writes."""


class Made(KubeObject, frozen=True):
    """An object of a kind that is read in any case, with its whole spec.

    Values of variables and headers are not kept, as passwords may be among them: `hidden` stands
    for them.
    """

    spec: Json | None = None

    def __post_init__(self) -> None:
        if self.spec is not None:
            force_setattr(self, "spec", _without_values(self.spec))


def _without_values(value: object, key: str = "") -> object:
    match value:
        case dict() if key in _HEADERS and str(value.get("name")).lower() in HARMLESS_HEADERS:
            return value
        case dict() if key == "env" or key in _HEADERS:
            return _without_value(value)
        case dict():
            return {name: _without_values(each, name) for name, each in value.items()}
        case list() | tuple():
            return [_without_values(each, key) for each in value]
        case _:
            return value


def _without_value(named: Json) -> Json:
    value = named.get("value")
    return {**named, "value": hidden(value)} if value and isinstance(value, str) else named
