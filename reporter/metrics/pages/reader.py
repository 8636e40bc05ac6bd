"""The selective reader: extracts the samples of wanted names from a page.

Most lines of a page belong to families that are not needed. One regular expression scans the page,
skips those lines by their name before it reaches the labels, and splits the wanted ones in three.
Lines that it cannot split, or that look odd, go through the slower line scanner, which decides.
Only the name of a skipped line is checked; a page without a wanted sample is checked in full.

The format is Prometheus' text format, or OpenMetrics ("Exposition formats" in the Prometheus
documentation).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar


class UnreadablePage(Exception):  # noqa: N818 - "unreadable page" says it
    """The body is not a metrics page, or not a credible one; the text says why in a few words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLimits:
    """Limits for a page; real pages stay far below each.

    A page with more lines, wanted series or engines (one for each data-parallel rank; nodes have at
    most 16) is unreadable: a truncated page would look like one on which values are missing. A line
    over the other limits is dropped. `seconds` are CPU time; the default `clock` does not advance,
    so there is no time limit.
    """

    lines: int = 200_000
    series: int = 20_000
    engines: int = 64
    seconds: float = 2.0
    clock: Callable[[], float] = float
    line_bytes: int = 64 * 1024
    labels: int = 64
    value_bytes: int = 4 * 1024


DEFAULT_LIMITS: Final = PageLimits()


Wanted = TypeVar("Wanted")
_Line: TypeAlias = tuple[bytes, bytes, bytes, bytes, bytes]

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_MOST_BAD: Final = 20
_LARGEST_BAD_SHARE: Final = 0.01
_SEPARATOR: Final = b"\0"
"""Separates the parts of an identity; pages with this byte are refused."""

_LINES_BETWEEN_CHECKS: Final = 1_000
"""The clock is checked once in this many lines."""

_REMEMBERED: Final = 8_192
_LONGEST_REMEMBERED: Final = 512
"""Parsed labels are cached: they are the same on all pages of a pod, and mostly on other pods'."""


@dataclass(frozen=True, slots=True, eq=False)
class SeriesLabels:
    """The labels of one series; `identity` joins all of them, independent of their order."""

    kept: Mapping[bytes, bytes]
    others: bytes = b""
    identity: bytes = b""


_NO_LABELS: Final = SeriesLabels({})


@dataclass(slots=True)
class PageSamples(Generic[Wanted]):
    samples: list[tuple[Wanted, SeriesLabels, float]] = field(default_factory=list)
    lines: int = 0
    bad: int = 0
    oversized: int = 0


class PageReader(Generic[Wanted]):
    """Reads the samples of wanted names from pages, with the labels in `keep`."""

    def __init__(
        self,
        wanted: Mapping[bytes, Wanted],
        keep: frozenset[bytes],
        limits: PageLimits = DEFAULT_LIMITS,
    ) -> None:
        self._wanted = wanted
        self._keep = keep
        self._limits = limits
        self._expression = re.compile(
            # `name{labels} value`, else what follows the brace of a wanted name
            rb"\n(?:("
            + any_of(wanted)
            + rb")\{(?:([^\n]*)\} ("
            + VALUE
            + rb")(?=\r?(?:\n|\Z))|([^\n]*))"
            # else the line, if it is neither blank, comment, quoted name nor `name{`
            rb"|(?!\n|#|\{|[a-zA-Z_:][a-zA-Z0-9_:]*+\{)([^\n]+))"
        ).findall
        self._remembered = lru_cache(_REMEMBERED)(self._labels)

    def read(self, body: bytes) -> PageSamples[Wanted]:
        """Return the wanted samples of a page, in page order."""
        found: PageSamples[Wanted] = PageSamples()
        page = self._checked(body, found)
        samples, most = found.samples, self._limits.series
        wanted, remembered = self._wanted, self._remembered
        for name, labels_text, value, rest, line in self._in_time(self._cut(page)):
            if value and len(labels_text) <= _LONGEST_REMEMBERED:
                labels = remembered(labels_text)
                if labels is not None:
                    samples.append((wanted[name], labels, float(value)))
                    if len(samples) <= most:
                        continue
                    break
            tail = labels_text + b"} " + value if value else rest
            self._scan(name + b"{" + tail if name else line, found)
            if len(samples) > most:
                break
        if len(samples) > most:
            raise UnreadablePage(f"more than {most} series")
        if not samples:
            self._check_in_full(page, found)
        if found.bad > _MOST_BAD or found.bad > found.lines * _LARGEST_BAD_SHARE:
            raise UnreadablePage("too many lines are not in the format")
        return found

    def _checked(self, body: bytes, found: PageSamples[Wanted]) -> bytes:
        limits = self._limits
        if not body or body.isspace():
            raise UnreadablePage("empty")
        if b"\0" in body:
            raise UnreadablePage("holds a NUL byte")
        body = body.removeprefix(_BYTE_ORDER_MARK)
        found.lines = body.count(b"\n") + (not body.endswith(b"\n"))
        if found.lines > limits.lines:
            raise UnreadablePage(f"more than {limits.lines} lines")
        if not _has_longer_line(body, limits.line_bytes):
            return body
        short = [line for line in body.split(b"\n") if len(line) <= limits.line_bytes]
        found.oversized = body.count(b"\n") + 1 - len(short)
        return b"\n".join(short)

    def _cut(self, page: bytes) -> Iterator[_Line]:
        """Split wanted and odd lines; the first is separate, as the expression needs a newline."""
        end = page.find(b"\n")
        first = page if end < 0 else page[:end]
        return chain(self._expression(b"\n" + first), self._expression(page))

    def _in_time(self, lines: Iterable[_Line]) -> Iterator[_Line]:
        clock = self._limits.clock
        until = clock() + self._limits.seconds
        for number, line in enumerate(lines):
            if not number % _LINES_BETWEEN_CHECKS and clock() > until:
                raise UnreadablePage(f"takes longer than {self._limits.seconds:g} s to read")
            yield line

    def _labels(self, text: bytes) -> SeriesLabels | None:
        """Return the labels in a text, or None if the line scanner must decide."""
        try:
            labels, end = scan_labels(text + b"}", 0, self._limits)
        except (BadLine, OversizedLine):
            return None
        return self._made(labels) if end == len(text) + 1 else None

    def _made(self, labels: Mapping[bytes, bytes]) -> SeriesLabels:
        return SeriesLabels(
            kept={name: value for name, value in labels.items() if name in self._keep},
            others=_joined(item for item in labels.items() if item[0] not in self._keep),
            identity=_joined(labels.items()),
        )

    def _scan(self, line: bytes, found: PageSamples[Wanted]) -> None:
        line = line.lstrip(b" \t\r")
        if not line or line.startswith((b"#", b"{")):
            return
        try:
            sample = scan(line, self._limits)
        except BadLine:
            found.bad += 1
        except OversizedLine:
            found.oversized += 1
        else:
            if sample.name in self._wanted:
                labels = self._made(sample.labels) if sample.labels else _NO_LABELS
                found.samples.append((self._wanted[sample.name], labels, sample.value))

    def _check_in_full(self, page: bytes, found: PageSamples[Wanted]) -> None:
        found.bad = 0
        first_bad = b""
        anything = False
        for line in _lines(page):
            try:
                scan(line, self._limits)
                anything = True
            except BadLine:
                first_bad = first_bad or line
                found.bad += 1
            except OversizedLine:
                anything = True
        if not anything:
            raise UnreadablePage(_other_content(first_bad))


def _joined(labels: Iterable[tuple[bytes, bytes]]) -> bytes:
    return _SEPARATOR.join(sorted(name + _SEPARATOR + value for name, value in labels))


def has_name_with(prefix: bytes, body: bytes) -> bool:
    """True if some line starts with a sample name that has this prefix."""
    line = rb"(?:^|\n)(?:\xef\xbb\xbf)?[ \t]*+" + re.escape(prefix) + rb"[a-zA-Z0-9_:]*+[ \t{]"
    return re.search(line, body) is not None


def _has_longer_line(page: bytes, most: int) -> bool:
    start = 0
    while len(page) - start > most:
        start = page.rfind(b"\n", start, start + most + 1) + 1
        if start == 0:
            return True
    return False


def _lines(page: bytes) -> Iterator[bytes]:
    """Yield lines that are neither blank nor comments."""
    for line in page.split(b"\n"):
        content = line.lstrip(b" \t\r")
        if content and not content.startswith(b"#"):
            yield content


def _other_content(start: bytes) -> str:
    if start.startswith(b"<"):
        return "no samples: looks like HTML"
    if start.startswith((b"{", b"[")):
        return "no samples: looks like JSON"
    return "no samples"


# Possessive quantifiers throughout: a line crafted to be slow is refused in linear time.
_BLANKS: Final = rb"[ \t]*+"
_QUOTED: Final = rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"'
_NUMBER: Final = rb"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+"
VALUE: Final = rb"(?:" + _NUMBER + rb"|[+-]?[iI][nN][fF]|[nN][aA][nN])"

_START: Final = re.compile(
    _BLANKS + rb"(?:([a-zA-Z_:][a-zA-Z0-9_:]*+)(?:(" + _BLANKS + rb"\{)|(?=[ \t]))|(\{))"
)
_LABEL: Final = re.compile(
    _BLANKS
    + rb"(?:([a-zA-Z_][a-zA-Z0-9_]*+)|"
    + _QUOTED
    + rb")"
    + _BLANKS
    + rb"(?:="
    + _BLANKS
    + _QUOTED
    + _BLANKS
    + rb")?([,}])"
)
_CLOSE: Final = re.compile(_BLANKS + rb"\}")
_REST: Final = re.compile(
    _BLANKS
    + rb"("
    + VALUE
    + rb")(?:[ \t]++"  # a timestamp, which is not trusted
    + _NUMBER
    + rb")?(?:[ \t]++#.*+|[ \t]*+\r?)",  # an exemplar, which is not needed
    re.DOTALL,
)
_ESCAPE: Final = re.compile(rb'\\([\\"n])')
_UNESCAPED: Final = {b"n": b"\n"}

is_value: Final = re.compile(VALUE + rb"\r?").fullmatch


class BadLine(Exception):  # noqa: N818 - a verdict, not a fault of ours
    """A line does not match the format."""


class OversizedLine(Exception):  # noqa: N818 - as above
    """A line has more labels, or longer ones, than the limits allow."""


class ParsedLine(NamedTuple):
    name: bytes
    labels: dict[bytes, bytes]
    value: float


def scan(line: bytes, limits: PageLimits) -> ParsedLine:
    """Return the sample of a line; its name may be quoted, inside the braces."""
    start = _START.match(line)
    if start is None:
        raise BadLine
    name, brace, nameless = start.groups()
    if brace is None and nameless is None:
        return ParsedLine(name, {}, _value(line, start.end()))
    labels, end = scan_labels(line, start.end(), limits, named=nameless is None)
    return ParsedLine(name or labels.pop(b""), labels, _value(line, end))


def scan_labels(
    line: bytes, at: int, limits: PageLimits, *, named: bool = True
) -> tuple[dict[bytes, bytes], int]:
    """Return the labels after an opening brace, and the offset after the closing one.

    Without a name before the brace, the first item is the quoted name, returned as label "".
    """
    labels: dict[bytes, bytes] = {}
    while True:
        item = _LABEL.match(line, at)
        if item is None:
            close = _CLOSE.match(line, at)
            if close is None or not (named or labels):
                raise BadLine
            return labels, close.end()
        at = item.end()
        label, quoted, value, end = item.groups()
        if (value is None) == (named or bool(labels)):
            raise BadLine
        if value is None:
            label, value = b"", quoted
        elif label is None:
            label = unescaped(quoted)
        if value is None or label in labels:
            raise BadLine
        if len(value) > limits.value_bytes or len(labels) >= limits.labels:
            raise OversizedLine
        labels[label] = unescaped(value)
        if end == b"}":
            return labels, at


def unescaped(value: bytes) -> bytes:
    r"""Return a quoted text without its escapes; an unknown escape such as `\d` is kept."""
    if b"\\" not in value:
        return value
    return _ESCAPE.sub(lambda escape: _UNESCAPED.get(escape[1], escape[1]), value)


def _value(line: bytes, at: int) -> float:
    rest = _REST.fullmatch(line, at)
    if rest is None:
        raise BadLine
    return float(rest[1])


_Tree: TypeAlias = "dict[int, _Tree]"
_END = -1


def any_of(names: Iterable[bytes]) -> bytes:
    """Return a pattern for any of the names, as a trie: common prefixes are compared once."""
    tree: _Tree = {}
    for name in names:
        branch = tree
        for byte in name:
            branch = branch.setdefault(byte, {})
        branch[_END] = {}
    return _pattern(tree)


def _pattern(tree: _Tree) -> bytes:
    branches = [
        re.escape(bytes([byte])) + _pattern(branch) for byte, branch in tree.items() if byte >= 0
    ]
    if not branches:
        return b""
    return b"(?:" + b"|".join(branches) + (b")?" if _END in tree else b")")
