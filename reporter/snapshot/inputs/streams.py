"""What an archive is decompressed to, counted while it is read."""

import gzip
import zlib
from collections.abc import Callable
from typing import BinaryIO, Final, Protocol, TypeAlias

from reporter.snapshot.inputs.limits import BrokenArchiveError, Budget

Opener: TypeAlias = Callable[[], BinaryIO]
"""Opens a file again from its start."""

GZIP: Final = b"\x1f\x8b"
BLOCK: Final = 512


class Readable(Protocol):
    """What a stream reads from."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes, none at the end."""


class CountedStream:
    """Bytes that come out of an archive; they are counted, and their errors are ours."""

    def __init__(self, inner: Readable, name: str, budget: Budget) -> None:
        self._inner = inner
        self._name = name
        self._budget = budget
        self._head = b""

    def peek(self) -> bytes:
        """Return the first block without consuming it."""
        if not self._head:
            self._head = self.read(BLOCK)
        return self._head

    def read(self, size: int, /) -> bytes:
        """Return `size` bytes, fewer only at the end.

        Raises:
            BrokenArchiveError: the archive is damaged or cut off.
            DumpError: it is more than is read.

        """
        parts, self._head = [self._head[:size]], self._head[size:]
        left = size - len(parts[0])
        while left > 0 and (part := self._next(left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def _next(self, size: int) -> bytes:
        try:
            part = self._inner.read(min(size, 1024 * 1024))
        except EOFError:
            raise BrokenArchiveError(
                f"{self._name}: the archive is cut off; copy it again"
            ) from None
        except (OSError, zlib.error, ValueError) as error:
            raise BrokenArchiveError(f"{self._name}: the archive is damaged: {error}") from None
        self._budget.unpack(len(part), self._name)
        return part


def decompressed(file: BinaryIO, name: str, budget: Budget) -> CountedStream:
    """Return what a file of gzip's format decompresses to, or else the file itself."""
    start = file.read(len(GZIP))
    file.seek(0)
    inner = gzip.GzipFile(fileobj=file, mode="rb") if start == GZIP else file
    return CountedStream(inner, name, budget)
