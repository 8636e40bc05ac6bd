"""Equal strings and times of the objects that are held are one value.

Most strings of a cluster's objects are the same again and again: types and reasons of conditions, labels, names of
nodes and images; so are times, which are whole seconds: what starts together changes its conditions together. A
decoder makes each of them again: strings were half of the memory that objects took, times a tenth.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Final, TypeVar, cast

import msgspec
from msgspec.structs import force_setattr

StructT = TypeVar("StructT", bound=msgspec.Struct)

_LONGEST: Final = 120
"""A longer string, such as the message of a scheduler, is seldom there twice."""

_MOST: Final = 4_096
"""Names and uids are there once and fill it; what is common is there again with the next object."""


class SharedValues:
    """Values that objects share; it begins again when it has grown large, so that it keeps little alive."""

    def __init__(self) -> None:
        self._known: dict[object, object] = {}
        self._bytes = 0

    def measured(self, obj: StructT) -> tuple[StructT, int]:
        """Return what `shared` does, and about how many bytes of memory the object takes."""
        self._bytes = 0
        return self.shared(obj), self._bytes

    def shared(self, obj: StructT) -> StructT:
        """Return an object that was just decoded, with the values of others where they are equal.

        It is the same object: nobody else may have it yet.
        """
        if len(self._known) > _MOST:
            self._known = {}
        self._struct(obj)
        return obj

    def _struct(self, obj: msgspec.Struct) -> None:
        self._bytes += 16 + 8 * len(obj.__struct_fields__)
        for name in obj.__struct_fields__:
            value = getattr(obj, name)
            shared = self._shared(value)
            if shared is not value:
                force_setattr(obj, name, shared)

    def _shared(self, value: object) -> object:
        if type(value) is str:
            self._bytes += 50 + len(value)
            return self._known.setdefault(value, value) if len(value) <= _LONGEST else value
        if isinstance(value, msgspec.Struct):
            self._struct(value)
        elif type(value) is datetime:
            return self._known.setdefault(value, value)
        elif type(value) is dict:
            self._bytes += 64 + 100 * len(value)
            return {self._shared(key): self._shared(each) for key, each in value.items()}
        elif type(value) in (tuple, list):
            for each in cast("Collection[object]", value):
                self._bytes += 8
                if isinstance(each, msgspec.Struct):
                    self._struct(each)
                else:
                    self._shared(each)
        return value
