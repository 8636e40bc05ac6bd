"""The values of a file, as the documents that the layout of its folder makes of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from reporter.snapshot.inputs.must_gather import is_gathered
from reporter.snapshot.inputs.support_bundle import SupportBundle, place_in_bundle
from reporter.yaml_reader.limits import Unreadable


@dataclass(slots=True)
class Layouts:
    """What the files of one source are, which some tools lay out in a way of their own.

    Bundles hold many other files, of which nobody expects that they are read: what is no object
    there is left out. It is known only at the end whether a source is a bundle, so that what is
    doubtful waits for `rest`.
    """

    _bundle: SupportBundle = field(default_factory=SupportBundle)
    _is_known: bool = False
    _doubtful: list[tuple[str, object]] = field(default_factory=list)

    def documents(
        self, source: str, path: PurePosixPath, values: Iterator[object]
    ) -> Iterator[object]:
        """Yield the documents of a file: values, and an `Unreadable` for what is broken."""
        place = place_in_bundle(path)
        gathered = is_gathered(path)
        self._is_known |= place is not None or gathered
        for value in values:
            if isinstance(value, Unreadable):
                if place is None and not gathered:
                    self._doubtful.append((source, value))
                else:
                    yield value
            elif place is not None:
                yield from self._bundle.documents(place, value)
            else:
                yield from self._objects(source, value, gathered=gathered)

    def _objects(self, source: str, value: object, *, gathered: bool) -> Iterator[object]:
        # Some tools write the objects of a list without anything around them.
        for each in _objects_of(value):
            if gathered or _is_object(each):
                yield each
            else:
                self._doubtful.append((source, each))

    def rest(self) -> Iterator[tuple[str, object]]:
        """Yield what can only be told once all files of the source were read, with their source."""
        yield from (("", each) for each in self._bundle.rest())
        if not self._is_known:
            yield from self._doubtful


def _objects_of(value: object) -> Iterable[object]:
    if isinstance(value, list) and any(_is_object(each) for each in value):
        return value
    return (value,)


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and "kind" in value and "apiVersion" in value
