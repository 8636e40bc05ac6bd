"""The objects of a dump, each in its newest copy: loops and folders hold many of them twice."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from reporter.model.objects import KubeObject
from reporter.model.report import SUPERSEDED, SkippedObject
from reporter.model.resource import Resource
from reporter.snapshot.decode import skipped
from reporter.snapshot.dump_served import Json, part

_UINT64_DIGITS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One copy of an object.

    Attributes:
        content: the object, or why it is skipped.
        revision: its resourceVersion; -1 if that is no number.
        generation: of its spec; -1 if it does not say.
        uid: tells it from another object that had its name.
        newest: the newest time that stands in it.
        preference: of two versions of the API the one with the higher preference is read.
        digest: the same for the same bytes.

    """

    content: KubeObject | SkippedObject
    revision: int
    generation: int
    uid: object
    newest: datetime | None
    preference: int
    digest: int

    def follows(self, other: "Copy") -> bool:
        """Tell whether this copy counts, which comes later in the dump.

        The one with the higher resourceVersion is newer: Kubernetes API concepts, "Resource versions",
        says that they can be compared. Of one revision the copy counts that can be read.
        """
        if self.revision != other.revision:
            return self.revision > other.revision
        if self.revision >= 0:
            return self.worth >= other.worth
        if self.uid == other.uid and self.generation != other.generation:
            return self.generation > other.generation
        if self.newest and other.newest and self.newest != other.newest:
            return self.newest > other.newest
        return True

    @property
    def worth(self) -> tuple[bool, int]:
        """What tells copies of one revision apart: whether it can be read, and its version."""
        return not isinstance(self.content, SkippedObject), self.preference

    def differs(self, other: "Copy") -> bool:
        """Tell whether the two may say different things: one revision in two versions does not."""
        if self.revision >= 0:
            return self.revision != other.revision
        return self.digest != other.digest


def copy_of(
    value: Json,
    content: KubeObject | SkippedObject,
    newest: datetime | None,
    *,
    preference: int,
    digest: int,
) -> Copy:
    """Return a copy with what tells how new it is."""
    revision = part(value, "metadata", "resourceVersion")
    generation = part(value, "metadata", "generation")
    return Copy(
        content=content,
        revision=_number(revision),
        generation=generation if isinstance(generation, int) else -1,
        uid=part(value, "metadata", "uid"),
        newest=newest,
        preference=preference,
        digest=digest,
    )


@dataclass(slots=True)
class Copies:
    """The newest copy of each object that has a name."""

    _kept: dict[Resource[KubeObject], dict[tuple[str, str], Copy]] = field(default_factory=dict)
    _superseded: dict[tuple[Resource[KubeObject], str, str], int] = field(default_factory=dict)

    def add(self, resource: Resource[KubeObject], copy: Copy) -> None:
        """Keep a copy that comes later in the dump, or the one that it is older than."""
        copies = self._kept.setdefault(resource, {})
        key = (copy.content.namespace, copy.content.name)
        other = copies.get(key)
        if other is not None and copy.differs(other):
            place = (resource, *key)
            self._superseded[place] = self._superseded.get(place, 0) + 1
        if other is None or copy.follows(other):
            copies[key] = copy

    def objects(self) -> Iterator[tuple[Resource[KubeObject], dict[tuple[str, str], KubeObject]]]:
        """Yield the objects that can be read, by resource."""
        for resource, copies in self._kept.items():
            contents = ((key, copy.content) for key, copy in copies.items())
            yield (
                resource,
                {key: each for key, each in contents if not isinstance(each, SkippedObject)},
            )

    def malformed(self) -> Iterator[SkippedObject]:
        """Yield the objects whose newest copy cannot be read."""
        for copies in self._kept.values():
            for copy in copies.values():
                if isinstance(copy.content, SkippedObject):
                    yield copy.content

    def superseded(self) -> Iterator[SkippedObject]:
        """Yield the objects of which older copies are left out."""
        for resource, namespace, name in self._superseded:
            yield skipped(resource, namespace, name, cause=SUPERSEDED)


def _number(text: object) -> int:
    if not isinstance(text, str) or not text.isdecimal() or len(text) > _UINT64_DIGITS:
        return -1
    return int(text)
