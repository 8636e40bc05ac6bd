"""Reading YAML: dumps, settings, and the YAML in annotations and ConfigMaps.

It must mean the same as in Kubernetes, take bounded time and memory whoever wrote it, and a broken
document must not affect its neighbours.

PyYAML's parser, with libyaml if available, turns text into a stream of events, and `Builder` turns
each event into its part of a value. A dump is split at lines that begin with `---`, so that the
parser restarts after a fault, and where a key that every object has is repeated at the left edge:
`kubectl get ... >> file` in a loop writes no `---`. Error messages of kubectl (`2>&1`) become
broken documents of their own.

`yaml.safe_load`, which `msgspec.yaml` calls too, is not suitable. It builds a tree of nodes first
(for a list of 5,000 pods, 22 MB, that takes eight times the time and five times the memory). It
recurses in C, so a file of 100,000 brackets crashes the process. And its dialect is strictly YAML
1.1: times become `datetime`, `12:30` is 750, `1e3` and `0o644` are text. ruamel.yaml reads YAML
1.2, in which `yes` and `0644` differ from Kubernetes. go-yaml is a translation of libyaml's parser,
so it refuses the same texts.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import yaml

from reporter.yaml_reader.building import Builder, DuplicateKeys
from reporter.yaml_reader.limits import LIMITS, BeyondLimits, Limits, Unreadable

try:
    from yaml import CSafeLoader as _Parser
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader as _Parser  # type: ignore[assignment]  # same interface

_BEGINNING: Final = re.compile(
    r"^(?:(?:---|(apiVersion|kind|items|metadata):)(?=[ \t\r\n]|\Z)"
    r"|((?:Error from server|error: |No resources found|Unable to connect|Warning: ).*))",
    re.MULTILINE,
)
_JSON_STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\Z)', re.DOTALL)
_FIRST: Final = "apiVersion"
_DIRECTIVES: Final = 100
"""Most lines that begin with `%` in a document: each `%TAG` is compared with all earlier ones."""

_CONTENT: Final = frozenset({"items", "metadata"})
_CLOSED: Final = ("\n", "}", "]")
_NO_CONTENT: Final = re.compile(r"(?:[ \t]*+(?:[#%].*+|(?:\.\.\.|---)[ \t]*+)?+(?:\r?\n|\Z))*+")


class Ending(Enum):
    WHOLE = auto()
    OPEN = auto()
    """The text ends in the middle of a line: at least a line break is missing."""
    RUN_INTO = auto()
    """The start of the next document is missing: this one was cut off at that point."""
    MESSAGE = auto()
    """An error message that kubectl wrote into the same file, not a document."""


@dataclass(frozen=True, slots=True)
class Passage:
    """The values, or the fault, of one document, or of several separated only by `...`."""

    values: tuple[object, ...]
    ending: Ending = Ending.WHOLE


class YamlReader:
    """Reads texts of many documents; the limits on nodes and aliases apply to all together."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self._limits = limits
        self._aliases = limits.aliases
        self._nodes = limits.nodes

    def count_json(self, text: str) -> None:
        """Count the values of a JSON text before they are decoded; raise BeyondLimits for too many.

        Separators within strings may be counted too.
        """
        if (nodes := _separators(text)) > self._nodes:
            nodes = _separators(_JSON_STRING.sub("", text))
        if nodes > self._nodes:
            raise BeyondLimits(f"it has more than {self._limits.nodes} values; split it by kind")
        self._nodes -= nodes

    def documents(self, text: str, line: int = 1) -> Iterator[object]:
        """Yield the value of each document that is not null; for a broken one, its `Unreadable`.

        Documents are parsed one by one, so a broken one does not affect the others.
        """
        for passage in self.passages(text, line):
            yield from passage.values

    def passages(self, text: str, line: int = 1) -> Iterator[Passage]:
        if len(text) > self._limits.size:
            yield Passage((_too_large(self._limits),))
            return
        for start, end, ending in _bounds(text):
            chunk = text[start:end]
            if ending is Ending.MESSAGE:
                yield Passage((Unreadable(f"kubectl says: {chunk.strip()}", line),))
            elif not _NO_CONTENT.fullmatch(chunk):
                builder = Builder(self._limits, self._nodes, self._aliases, "last")
                error = _build(chunk, builder, line)
                self._nodes, self._aliases = max(0, builder.nodes), builder.aliases
                values = [each for each in builder.documents if each is not None]
                if error:
                    part, error.unfinished = builder.unfinished()
                    error.part = part or _first_keys(chunk)
                    values.append(error)
                yield Passage(tuple(values), ending)
            line += chunk.count("\n")


def _separators(text: str) -> int:
    return sum(map(text.count, ",:[{"))


def _bounds(text: str) -> Iterator[tuple[int, int, Ending]]:
    start, keys, marked = 0, set[str](), True
    for match in _BEGINNING.finditer(text):
        key = match[1]
        if match[2]:
            yield start, match.start(), Ending.WHOLE
            yield match.start(), match.end(), Ending.MESSAGE
            start, keys, marked = match.end(), set(), True
            continue
        if key is not None and key not in keys and (marked or not _is_late(key, keys)):
            keys.add(key)
            continue
        explicit = key in {None, _FIRST} or _names_version(text, match.start())
        yield start, match.start(), Ending.WHOLE if explicit else Ending.RUN_INTO
        start, keys, marked = match.start(), {key} if key else set(), key is None
    yield start, len(text), Ending.WHOLE if text.endswith(_CLOSED) else Ending.OPEN


def _first_keys(text: str) -> dict[str, None] | None:
    keys = (match[1] for match in _BEGINNING.finditer(text))
    return dict.fromkeys(filter(None, keys)) or None


def _is_late(key: str, keys: set[str]) -> bool:
    return key == _FIRST and not keys.isdisjoint(_CONTENT)


def _names_version(text: str, start: int) -> bool:
    """True if the document that begins here has an `apiVersion` after its first key.

    Some tools write `kind` first. Without an `apiVersion`, the document's start is missing, and the
    previous document was cut off in the same line.
    """
    keys = set[str]()
    for match in _BEGINNING.finditer(text, start):
        key = match[1]
        if key is None or key in keys or _is_late(key, keys):
            return False
        if key == _FIRST:
            return True
        keys.add(key)
    return False


def read_yaml(
    text: str, *, limits: Limits = LIMITS, duplicate_keys: DuplicateKeys = "last"
) -> object:
    """Return the value of a text with one document, or None if it has no content."""
    if len(text) > limits.size:
        raise _too_large(limits)
    builder = Builder(limits, limits.nodes, limits.aliases, duplicate_keys)
    if error := _build(text, builder, 1):
        raise error
    if len(builder.documents) > 1:
        raise Unreadable("there is a second document")
    return builder.documents[0] if builder.documents else None


def _too_large(limits: Limits) -> BeyondLimits:
    return BeyondLimits(f"it is larger than {limits.size} characters")


def _build(text: str, builder: Builder, line: int) -> Unreadable | None:
    if text.count("\n%") > _DIRECTIVES:
        return BeyondLimits(f"it has more than {_DIRECTIVES} directives", line)
    handlers = builder.handlers()
    event: yaml.Event | None = None
    try:
        for event in iter(_Parser(text).get_event, None):
            handlers[type(event)](event)
    except Unreadable as error:
        return type(error)(error.cause, line + _line(event.start_mark if event else None))
    except (yaml.YAMLError, ArithmeticError, ValueError) as error:
        return _explained(error, line)
    return None


def _explained(error: Exception, line: int) -> Unreadable:
    """Turn an error of the parser, which may also be about characters, into `Unreadable`."""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or error
    return Unreadable(str(problem), line + _line(getattr(error, "problem_mark", None)))


def _line(mark: object) -> int:
    line: int = getattr(mark, "line", 0)
    return line


_MOST: Final = 128 * 1024 * 1024

_FOUR_BYTES: Final = re.compile(rb"[\xf0-\xff]")
_TWO_BYTES: Final = re.compile(rb"[\xc4-\xef]")
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(raw: bytes) -> str:
    """Decode a file as UTF-8, or by its byte order mark.

    Python stores each character of a text in as many bytes as the widest one needs.
    """
    width = 4 if _FOUR_BYTES.search(raw) else 2 if _TWO_BYTES.search(raw) else 1
    if len(raw) * width > _MOST:
        raise Unreadable(
            f"with such characters it is larger than {_MOST // width} bytes; split it by kind"
        )
    try:
        for bom, encoding in _BOMS:
            if raw.startswith(bom):
                # PowerShell's `>` writes UTF-16.
                return raw.decode(encoding).removeprefix("\ufeff")
        return raw.decode("utf-8")
    except UnicodeError:
        raise Unreadable("it is not UTF-8 text") from None
