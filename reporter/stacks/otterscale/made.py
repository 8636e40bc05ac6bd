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


def hidden(value: str) -> str:
    """Return what stands for the value of a variable: the same for the same, in this process."""
    if value.startswith(MASKED):
        return value
    return hashlib.blake2b(value.encode("utf-8", "replace"), key=_KEY, digest_size=8).hexdigest()


class Made(KubeObject, frozen=True):
    """An object of a kind that is read in any case, with its whole spec.

    Values of variables are not kept, as passwords may be among them: `hidden` stands for them.
    """

    spec: Json | None = None

    def __post_init__(self) -> None:
        """Forget the values of variables."""
        if self.spec is not None:
            force_setattr(self, "spec", _without_values(self.spec))


def _without_values(value: object, key: str = "") -> object:
    match value:
        case dict():
            return {name: _without_values(each, name) for name, each in value.items()}
        case list() | tuple():
            return [_variable(each) if key == "env" else _without_values(each) for each in value]
        case _:
            return value


def _variable(variable: object) -> object:
    if not isinstance(variable, dict) or not isinstance(variable.get("value"), str):
        return variable
    value = variable["value"]
    return {**variable, "value": hidden(value) if value else ""}
