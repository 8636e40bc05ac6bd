"""How much is read of a dump, whatever it is packed in.

A dump may come from anybody. Nothing of it is unpacked to disk; of an archive, one file at a time is
in memory.
"""

from dataclasses import dataclass, field
from typing import Final

from reporter.yaml_reader.limits import LIMITS

_MIB: Final = 1024 * 1024


class DumpError(Exception):
    """A dump that cannot be evaluated; the message says why and is meant for the user."""


class BrokenArchiveError(DumpError):
    """An archive that is damaged or cut off; inside of another one it costs only itself."""


@dataclass(frozen=True, slots=True)
class InputLimits:
    """How much is read before a dump is refused.

    Attributes:
        file: most bytes of one file.
        documents: most bytes of all files that hold objects.
        unpacked: most bytes that come out of all archives of a dump, logs included: they have to be
            decompressed to find what is behind them.
        entries: most entries of all archives of a dump.
        nested: most bytes of an archive inside of an archive, which is held in memory.
        depth: how many archives may be inside of each other; `.tar.gz` counts as one.
        pages: most bytes of all pages of metrics in archives, which are held in memory.
        logs: most bytes of the ends of all logs, which are held in memory; the rest is left out.
        index: most bytes of a zip's central directory, which Python reads at once.
        header: most bytes of a long name or of extended attributes in a tar.
        links: most links that are followed from one to the next.

    """

    file: int = LIMITS.size
    documents: int = 2 * LIMITS.size
    unpacked: int = 4096 * _MIB
    entries: int = 200_000
    nested: int = 96 * _MIB
    depth: int = 3
    pages: int = 64 * _MIB
    logs: int = 64 * _MIB
    index: int = 16 * _MIB
    header: int = _MIB
    links: int = 40


INPUT_LIMITS: Final = InputLimits()


@dataclass(slots=True)
class Budget:
    """What may still be read of the sources of one dump."""

    limits: InputLimits = INPUT_LIMITS
    _unpacked: int = field(init=False)
    _entries: int = field(init=False)
    _documents: int = field(init=False)
    _pages: int = field(init=False)
    _logs: int = field(init=False)

    def __post_init__(self) -> None:
        self._documents = self.limits.documents
        self._unpacked, self._entries = self.limits.unpacked, self.limits.entries
        self._pages, self._logs = self.limits.pages, self.limits.logs

    def unpack(self, size: int, name: str) -> None:
        """Count bytes that came out of an archive.

        Raises:
            DumpError: there are too many.

        """
        self._unpacked -= size
        if self._unpacked < 0:
            most = _shown(self.limits.unpacked)
            raise DumpError(
                f"{name}: it unpacks to more than {most}; if you trust it, unpack it yourself and "
                "name the folder"
            )

    def enter(self, name: str) -> None:
        """Count an entry of an archive.

        Raises:
            DumpError: there are too many.

        """
        self._entries -= 1
        if self._entries < 0:
            raise DumpError(
                f"{name}: it has more than {self.limits.entries} entries; if you trust it, unpack "
                "it yourself and name the folder"
            )

    def keep_document(self, size: int, name: str) -> None:
        """Count a file that holds objects.

        Raises:
            DumpError: there is too much of them.

        """
        self._documents -= size
        if self._documents < 0:
            most = _shown(self.limits.documents)
            raise DumpError(
                f"{name}: with it there are more than {most} of objects; name fewer files"
            )

    def keep_page(self, size: int, name: str) -> None:
        """Count a page of metrics.

        Raises:
            DumpError: there is too much of them.

        """
        self._pages -= size
        if self._pages < 0:
            most = _shown(self.limits.pages)
            raise DumpError(
                f"{name}: its pages of metrics have more than {most}; unpack it yourself"
            )

    def keep_log(self, size: int) -> bool:
        """Count the end of a log; False if there is no room for it."""
        self._logs -= size
        return self._logs >= 0


def too_large(name: str, most: int) -> str:
    """Say that a file is larger than what is read."""
    return f"{name}: larger than {_shown(most)}; split it by kind"


def _shown(size: int) -> str:
    return f"{size // _MIB} MiB" if size >= _MIB else f"{size} bytes"
