"""One line of the Prometheus text format, or of OpenMetrics.

See "Exposition formats" in the Prometheus documentation.
"""

import re
from typing import Final, NamedTuple

from reporter.metrics.pages.limits import PageLimits

# Possessive quantifiers throughout: a line that is made to be slow is refused in linear time.
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
    + rb")(?:[ \t]++"  # a timestamp, which is not believed
    + _NUMBER
    + rb")?(?:[ \t]++#.*+|[ \t]*+\r?)",  # an exemplar, which is not needed
    re.DOTALL,
)
_ESCAPE: Final = re.compile(rb'\\([\\"n])')
_UNESCAPED: Final = {b"n": b"\n"}

is_value: Final = re.compile(VALUE + rb"\r?").fullmatch
"""Whether a token is a value: `float` takes much more than the format has."""


class BadLine(Exception):  # noqa: N818 - a verdict, not a fault of ours
    """A line that is not of the format."""


class OversizedLine(Exception):  # noqa: N818 - as above
    """A line with more, or longer, labels than are read."""


class Sample(NamedTuple):
    """A line: name, labels with their escapes undone, value."""

    name: bytes
    labels: dict[bytes, bytes]
    value: float


def scan(line: bytes, limits: PageLimits) -> Sample:
    """Return the sample of a line; one with a quoted name is named by that.

    Raises:
        BadLine: it is not of the format.
        OversizedLine: it has too much in it.

    """
    start = _START.match(line)
    if start is None:
        raise BadLine
    name, brace, nameless = start.groups()
    if brace is None and nameless is None:
        return Sample(name, {}, _value(line, start.end()))
    labels, end = scan_labels(line, start.end(), limits, named=nameless is None)
    return Sample(name or labels.pop(b""), labels, _value(line, end))


def scan_labels(
    line: bytes, at: int, limits: PageLimits, *, named: bool = True
) -> tuple[dict[bytes, bytes], int]:
    """Return the labels that begin behind an opening brace, and the offset behind the closing one.

    Without a name before the brace the first item is the quoted name, returned as label "".

    Raises:
        BadLine: they are not of the format.
        OversizedLine: too many, or too long.

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
    r"""Return a quoted text without its escapes; an unknown one such as `\d` stays as it is."""
    if b"\\" not in value:
        return value
    return _ESCAPE.sub(lambda escape: _UNESCAPED.get(escape[1], escape[1]), value)


def _value(line: bytes, at: int) -> float:
    rest = _REST.fullmatch(line, at)
    if rest is None:
        raise BadLine
    return float(rest[1])
