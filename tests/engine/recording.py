"""Pages of an engine over time as one file, for tests: `make engine-check ARGS="--record tests/data/engine"`."""

import lzma
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "data" / "engine"
RECORDED = sorted(FOLDER.glob("*.xz"))

_SEPARATOR = re.compile(rb"^# scraped after ([0-9.]+) s\n", re.MULTILINE)
_TIMES = re.compile(
    rb"^((?:\S+_created|process_start_time_seconds)(?:\{.*\})?) (\S+)$", re.MULTILINE
)
_START = 1_700_000_000.0
"""When recorded processes started, as their pages tell."""


def save(path: Path, pages: Mapping[float, bytes]) -> None:
    """Write pages by the seconds at which they were scraped; only when the process started is not kept."""
    parts = [b"# scraped after %g s\n%s" % (at, _moved(page)) for at, page in sorted(pages.items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(b"".join(parts), preset=9 | lzma.PRESET_EXTREME))


def load(path: Path) -> dict[float, bytes]:
    """Return the pages by the seconds at which they were scraped."""
    _, *parts = _SEPARATOR.split(lzma.decompress(path.read_bytes()))
    return {float(at): page for at, page in zip(parts[::2], parts[1::2], strict=True)}


def recorded(name: str) -> Path:
    """Return where the pages of a series are, whichever release served them."""
    (path,) = (each for each in RECORDED if each.stem.endswith(f"-{name}"))
    return path


def _moved(page: bytes) -> bytes:
    """Return a page whose times are those of a process that started at `_START`."""
    started = next(_started(page), None)
    if started is None:
        return page
    return _TIMES.sub(
        lambda match: b"%s %s" % (match[1], repr(float(match[2]) - started + _START).encode()), page
    )


def _started(page: bytes) -> Iterator[float]:
    for match in _TIMES.finditer(page):
        if match[1] == b"process_start_time_seconds":
            yield float(match[2])
