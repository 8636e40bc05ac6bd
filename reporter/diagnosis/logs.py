r"""The cause in a container's log, found by the table of signatures.

The problem. A container that ends leaves a thousand lines, and the last says the least: each
process of an engine reports that another one failed, and each layer wraps the error of the layer
below. Quoting the end names a wrapper; quoting the first error names a harmless warning.

The choice. Loggers' prefixes (time, level, process, rank, JSON, klog) are stripped. Lines that are
not errors, or only say that something else failed, are dropped, and every remaining line is matched
against every row of the table. The surest row wins, then the earliest line; within the same second,
a worker precedes the engine, and the engine the server: the process that fails first knows why. If
no row matches, no cause is named, and the first exception is quoted to users who may read the log.

A log is untrusted: any tenant who may run a pod controls its text. So its lines and bytes are
limited first. Python's `re` has no timeout, a pattern with two unbounded repeats can take hours on
one line, and users may add rows. So each line is cut before it is matched, and patterns may
backtrack little: an unbounded repeat must be possessive (`\d++`), so that it never backtracks, or
end the pattern; other repeats are bounded, and the number of ways in which they can match together
stays below `MOST_BACKTRACKING`; no pattern begins with a repeat. `pattern_fault` enforces this for
built-in rows and for the user's.

Rejected: a timeout in another thread (the match holds the interpreter's lock), and RE2, which is
linear by construction but would be a compiled dependency for this alone, and lacks the lookbehind
that a few rows need.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from reporter.errors import UsageError
from reporter.model.evidence import LogCause
from reporter.model.text import clean, clean_lines, cut, redact
from reporter.yaml_reader.limits import Limits, Unreadable
from reporter.yaml_reader.reading import decoded, read_yaml

MOST_BACKTRACKING: Final = 5_000
MOST_ROWS: Final = 500
_LIMITS: Final = Limits(size=512 * 1024, depth=10, nodes=50_000, aliases=0)
_CAUSE_BYTES: Final = 200
_VALUE: Final = re.compile(r"\{(\w{1,40})\}")
_PIECE: Final = re.compile(
    r"(?P<group>\((?:\?(?:P<\w++>|<?[=!]|[:>]))?+(?!\?))|\(\?.?|\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]"
    r"|(?P<repeat>[*+?]|\{\d*+(?P<to>,\d*+)?\})(?P<how>[+?]?)|.",
    re.DOTALL,
)
_END: Final = re.compile(r"[)?]*+\Z")
_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")

Sureness = Literal["certain", "likely", "symptom"]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=400)]


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of a file; `reporter/diagnosis/log-signatures.yaml` explains the keys."""

    kind: Text = msgspec.field(name="class")
    match: Annotated[str, msgspec.Meta(min_length=4, max_length=1_000)]
    means: Text | Annotated[list[Text], msgspec.Meta(min_length=1, max_length=5)]
    do: Text | Annotated[list[Text], msgspec.Meta(min_length=1, max_length=5)]
    sureness: Sureness = "likely"
    container: str = "any"
    versions: str = ""
    source: str = ""
    warning: bool = False


class Signature(msgspec.Struct, frozen=True):
    """A valid row with its compiled pattern; of two that match a line, the lower `order` wins."""

    id: str
    row: Row
    pattern: re.Pattern[str]
    order: int

    def cause(self, values: Mapping[str, str]) -> str:
        """Return the cause as a clause without a full stop."""
        return _filled(self.row.means, values)

    def action(self, values: Mapping[str, str]) -> str:
        return _filled(self.row.do, values)


def texts(text: str | Sequence[str]) -> Sequence[str]:
    """Return the alternative texts of a row; the first whose values all matched is used."""
    return (text,) if isinstance(text, str) else text


def _filled(text: str | Sequence[str], values: Mapping[str, str]) -> str:
    offered = texts(text)
    fits = (each for each in offered if all(name in values for name in _VALUE.findall(each)))
    found = next(fits, offered[-1])
    return _VALUE.sub(lambda match: values.get(match[1], "?"), found)


@cache
def built_in() -> tuple[Signature, ...]:
    text = files("reporter.diagnosis").joinpath("log-signatures.yaml").read_text(encoding="utf-8")
    return _signatures(text, known={})


@cache
def signatures_with(path: Path | None) -> tuple[Signature, ...]:
    """Return the rows of a user's file, followed by the built-in rows.

    Raises UsageError, which names the row, if the file cannot be read or a row is invalid.
    """
    if path is None:
        return built_in()
    ours = {each.id: each for each in built_in()}
    try:
        added = _signatures(decoded(path.read_bytes()), known=ours)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except Unreadable as error:
        raise UsageError(f"{path}: {error}") from None
    moved = (msgspec.structs.replace(each, order=each.order + len(added)) for each in ours.values())
    return (*added, *moved)


def _signatures(text: str, known: Mapping[str, Signature]) -> tuple[Signature, ...]:
    value = read_yaml(text, limits=_LIMITS, duplicate_keys="refuse")
    if not isinstance(value, dict) or not value:
        raise Unreadable("expected a mapping of ids to signatures")
    if len(value) > MOST_ROWS:
        raise Unreadable(f"{len(value)} signatures; at most {MOST_ROWS} are read")
    return tuple(
        _signature(str(each), row, order, known=known)
        for order, (each, row) in enumerate(value.items())
    )


def _signature(
    named: str, value: object, order: int, *, known: Mapping[str, Signature]
) -> Signature:
    named = cut(clean(named), _CAUSE_BYTES)
    if not _ID.fullmatch(named):
        raise Unreadable(f"signature {named!r}: an id has lower-case letters, digits and - only")
    if named in known:
        raise Unreadable(f"signature {named}: a built-in signature has this id; choose another")
    try:
        row = msgspec.convert(value, Row)
        pattern = re.compile(row.match)
    except msgspec.ValidationError as error:
        raise Unreadable(f"signature {named}: {cut(clean(str(error)), _CAUSE_BYTES)}") from None
    except (re.error, RecursionError, OverflowError) as error:
        cause = cut(clean(str(error)), _CAUSE_BYTES)
        raise Unreadable(f"signature {named}: match is not a regular expression: {cause}") from None
    if fault := pattern_fault(row.match) or _text_fault(row, pattern):
        raise Unreadable(f"signature {named}: {fault}")
    return Signature(named, row, pattern, order)


def _text_fault(row: Row, pattern: re.Pattern[str]) -> str:
    if pattern.search(""):
        return "match also matches an empty line"
    for text in (*texts(row.means), *texts(row.do)):
        for name in _VALUE.findall(text):
            if name not in pattern.groupindex:
                return f"{{{name}}} is not a named group of match"
    return ""


def pattern_fault(pattern: str) -> str:
    """Return why a pattern may take too long on a line, or an empty string."""
    ways, before, begins, first = 1, "", True, False
    groups: list[tuple[bool, int]] = [(True, 1)]
    for piece in _PIECE.finditer(pattern):
        what = piece[0]
        if fault := _piece_fault(pattern, piece, before=before, begins=first):
            return fault
        if piece["repeat"]:
            ways *= _most(piece)
        elif piece["group"]:
            groups.append((begins, 1))
        elif what == "|":
            begins, branches = groups.pop()
            groups.append((begins, branches + 1))
        else:
            first, begins = begins, False
            if what == ")" and len(groups) > 1:
                ways *= groups.pop()[1]
        before = what
    if ways > MOST_BACKTRACKING:
        return (
            f"match may be tried in {ways} ways; {MOST_BACKTRACKING} are allowed: lower its bounds"
        )
    return ""


def _piece_fault(pattern: str, piece: re.Match[str], *, before: str, begins: bool) -> str:
    what, how = piece[0], piece["how"]
    fault = ""
    unbounded = what[0] in "*+" or piece["to"] == ","
    if not piece["repeat"]:
        if what.startswith("(?") and not piece["group"]:
            fault = f"match has {what}; named groups, (?:...) and lookarounds are allowed"
        elif what[0] == "\\" and what[1:] in set("123456789"):
            fault = "match has a back-reference, which is not allowed"
    elif begins:
        fault = f"match begins with a repeat ({what}); begin with \\b or with the text before it"
    elif how == "+" or what[0] == "?":
        pass
    elif before == ")":
        fault = f"match repeats a group ({what}); make it possessive ({what}+)"
    elif unbounded and (how or not _END.match(pattern, piece.end())):
        fault = (
            f"{what} in match is unbounded; make it possessive ({what[0]}+) if it cannot match "
            "what follows, else bound it, such as .{0,300}"
        )
    return fault


def _most(piece: re.Match[str]) -> int:
    if piece["how"] == "+" or piece["repeat"][0] in "*+":
        return 1
    if piece["repeat"] == "?":
        return 2
    bounds = [int(each) for each in re.findall(r"\d+", piece["repeat"])]
    return max(1, bounds[-1] - bounds[0]) if len(bounds) > 1 else 1


MOST_LINES: Final = 1_000
"""Number of last lines that are read; a vLLM server with eight workers writes as many."""

MOST_BYTES: Final = 1024 * 1024
MOST_SHOWN: Final = 20
"""Number of last lines shown to users who may read the log."""

_SHOWN_BYTES: Final = 300
_LINE: Final = 4_096
_JSON_LINE: Final = 65_536
_VALUE_BYTES: Final = 200
_SENTENCE_BYTES: Final = 400

_TERMINAL: Final = re.compile(r"\x1b?\[[0-9;]{1,12}m|\x1b\[[0-9;:?]{0,20}[ -/]{0,3}[@-~]")
_STAMP: Final = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)[.,\d]{0,12}(?:Z|[+-]\d\d:?\d\d)?"
    r" (?:std(?:out|err) [FP] )?"
)
_PREFIXES: Final = (
    re.compile(r"\((?P<process>[\w.-]{1,60}) pid=\d{1,10}\) ?"),
    re.compile(
        r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<time>(?:\d{4}-)?\d\d-\d\d "
        r"\d\d:\d\d:\d\d)"
        r"[.,\d]{0,8} \[[^\]]{1,200}\] ?"
    ),
    re.compile(
        r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)[.,\d]{0,12}Z?(?: \d{1,10} [\w.-]{1,60})?"
        r"[ \t-]{1,3}"
        r"(?P<level>DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b[ \t-]{0,3}"
        r"(?:\[[^\]]{1,200}\][ -]{0,3})?"
    ),
    re.compile(r"\[(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?: (?P<process>[\w ]{1,40}))?\] ?"),
    re.compile(r"\[rank\d{1,5}\]: ?"),
    re.compile(r"\[(?P<level>[IWEF])\d{4} (?P<time>\d\d:\d\d:\d\d)[^\]]{0,80}\] ?"),
    re.compile(
        r"(?P<level>[IWEF])\d{4} (?P<time>\d\d:\d\d:\d\d)\.\d{1,9} {1,8}\d{1,8} "
        r"[\w./-]{1,120}:\d{1,6}\] ?"
    ),
    re.compile(r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL):(?: {1,8}|[\w.]{1,80}:)"),
    re.compile(r"\| (?P<level>TRACE|DEBUG|INFO|WARNING|ERROR|CRITICAL) {1,5}\| ?"),
    re.compile(r"\[(?P<level>[IWEF]) [\w./-]{1,80}:\d{1,6}\] ?"),
)
_UNWRAPPED: Final = re.compile(r"Worker failed with error '")
_LOW: Final = frozenset({"DEBUG", "INFO", "I", "TRACE"})
_WARNING: Final = frozenset({"WARNING", "WARN", "W"})
_FAILURES: Final = ("Error: ", "Exception: ")
_FRAME: Final = re.compile(r' {2,}File "|\s*[\^~]+\s*\Z')
_TRACEBACK: Final = "Traceback (most recent call last)"
_EXCEPTION: Final = re.compile(r"[A-Za-z_][\w.]{0,150}(?:Error|Exception|Interrupt|Exit|Failure)\b")
_FAILED: Final = re.compile(
    r"(?:fatal(?: error)?|error): |terminate called after"
    r"|thread '[^']{0,80}'.{0,40} panicked",
    re.IGNORECASE,
)
"""The beginning of the last error line of programs in Go, C++ and Rust, and of commands."""

_SEVERE: Final = frozenset({"ERROR", "CRITICAL", "FATAL", "E", "F"})
_RANKS: Final = ("Worker", "VllmWorker", "RayWorker", "TP", "EngineCore", "APIServer")

WRAPPERS: Final = (
    "Engine core initialization failed",
    "WorkerProc initialization failed due to",
    "EngineCore failed to start",
    "EngineCore encountered an",
    "EngineDeadError",
    "Frontend process failed during engine core",
    "failed to be inspected",
    "Invalid repository ID or local directory specified",
    "For further information visit https://errors.pydantic.dev",
    "sigquit from a child process",
    "SIGQUIT received",
    "Initialization failed. Please see",
    "scheduler is dead",
    "AWS S3 sync command failed with exit code",
    "rsync failed with code",
)
"""Fragments of lines that only say that something else failed; such a line is never a cause."""

NOISE: Final = (
    "destroy_process_group() was not called",
    "leaked shared_memory",
    "leaked semaphore",
    "No available shared memory broadcast block found",
    "NCCL INFO",
    " on startup. Desired GPU memory utilization",
    "TORCH_USE_CUDA_DSA",
    "CUDA kernel errors might be asynchronously",
    "Cgroup memory preflight",
    "Trying to resume download",
    "Retrying",
    "thrown while requesting",
    "non-default args",
    "server_args=",
    "Ignore import error when loading",
)
"""Fragments of lines that healthy containers log too."""

_NOISE: Final = re.compile(r"frame #\d|TLS handshake error .{0,300}EOF")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log without its logger's prefix; `number` counts from 1.

    `quiet`: its level is INFO or lower, but it names an exception, as some servers log failures;
    used only if no other line matches. `severe`: its level is an error.
    """

    number: int
    text: str
    process: str = ""
    second: str = ""
    warning: bool = False
    quiet: bool = False
    severe: bool = False

    @property
    def rank(self) -> int:
        """The order of processes that fail in the same second; the lowest is the cause."""
        fits = (rank for rank, each in enumerate(_RANKS) if self.process.startswith(each))
        return next(fits, len(_RANKS) - 1)


@dataclass(frozen=True, slots=True)
class LogReading:
    """The result for a log: the cause, for diagnoses and messages, and the row that matched.

    `quoted` is the line that matched, else that of the first failure, redacted; for users who may
    read the log.
    """

    cause: LogCause
    matched: Signature | None = None
    quoted: Line | None = None


def read_log(text: str, signatures: Sequence[Signature]) -> LogReading:
    """Return the cause in the last `MOST_LINES` lines and `MOST_BYTES` characters of a log."""
    text = text[-MOST_BYTES:]
    listens = ""
    for each in _LISTENS.finditer(text):
        listens = f"{each['host']}:{each['port']}"
    loads = _LOADS.search(text) is not None
    last = tuple(cut(each, _SHOWN_BYTES) for each in clean_lines(text)[-MOST_SHOWN:])
    every = list(_without_echoes(_lines(text)))
    lines = [each for each in every if not each.quiet]
    best = _best(_matches(lines, signatures)) or _best(
        _matches((each for each in every if each.quiet), signatures)
    )
    if best is None:
        first = _first_failure(lines)
        quoted = _masked(first) if first else None
        none = LogCause(
            listens=listens, loads=loads, failure=quoted.text if quoted else "", lines=last
        )
        return LogReading(none, quoted=quoted)
    line, found, match = best
    values = {
        name: cut(redact(value).rstrip(".,;:"), _VALUE_BYTES)
        for name, value in match.groupdict().items()
        if value and value.rstrip(".,;:")
    }
    # Messages contain no URLs, and a model's URI is clear without its scheme.
    shown = {name: value.partition("://")[2] or value for name, value in values.items()}
    cause = LogCause(
        signature=found.id,
        kind=found.row.kind,
        sentence=cut(clean(found.cause(shown)), _SENTENCE_BYTES),
        action=cut(clean(found.action(shown)), _SENTENCE_BYTES),
        certain=found.row.sureness == "certain" and not line.quiet,
        symptom=found.row.sureness == "symptom",
        values={name: each for name, each in values.items() if name[0] != "_"},
        listens=listens,
        loads=loads,
        lines=last,
    )
    return LogReading(cause, found, _masked(line))


_LISTENS: Final = re.compile(
    r"(?:Uvicorn running on|Starting vLLM (?:API )?server(?: \d{1,4})? on|server is listening on)"
    r" (?:https?://|socket \('?)(?P<host>\[?[\w.:-]{1,80}?\]?)(?::|', )(?P<port>\d{1,5})\b"
)
_LOADS: Final = re.compile(
    r"Loading (?:safetensors|pt|bin) checkpoint shards|Multi-thread loading shards|Starting to "
    r"load model"
    r"|Load weight begin|Loading (?:model )?weights|Downloading shards|Fetching \d{1,6} files"
    r"|\.safetensors: {1,4}\d{1,3}%|Captur(?:ing|e) CUDA graph|Capture cuda graph begin"
    r"|Compiling a graph for|load_tensors: "
)
"""Log lines of vLLM, SGLang, llama.cpp and the Hugging Face hub between start and readiness."""


def _masked(line: Line) -> Line:
    return replace(line, text=cut(clean(line.text), _SENTENCE_BYTES))


_Found = tuple[Line, Signature, re.Match[str]]
_SURENESS: Final = ("certain", "likely", "symptom")


def _matches(lines: Iterable[Line], signatures: Sequence[Signature]) -> Iterator[_Found]:
    seen: set[str] = set()
    for line in lines:
        if line.text in seen or not _counts(line.text):
            continue
        seen.add(line.text)
        for each in signatures:
            if line.warning and not each.row.warning:
                continue
            if match := each.pattern.search(line.text):
                yield line, each, match


def _best(found: Iterable[_Found]) -> _Found | None:
    matches = list(found)
    if not matches:
        return None
    sureness = min(_SURENESS.index(each.row.sureness) for _, each, _ in matches)
    sure = [each for each in matches if _SURENESS.index(each[1].row.sureness) == sureness]
    first = min(sure, key=lambda each: each[0].number)[0]
    beside = [
        each
        for each in sure
        if each[0] is first or (first.second and each[0].second == first.second)
    ]
    return min(beside, key=lambda each: (each[0].rank, each[0].number, each[1].order))


def _counts(text: str) -> bool:
    if _FRAME.match(text) or any(each in text for each in WRAPPERS):
        return False
    return not (any(each in text for each in NOISE) or _NOISE.search(text))


def _first_failure(lines: Sequence[Line]) -> Line | None:
    """Return the line of the first exception, of a traceback if possible; never a wrapper.

    Without an exception: the first fatal error of a program in another language, else the last line
    logged as an error.
    """
    inside = False
    for line in lines:
        if line.text.endswith(_TRACEBACK + ":"):
            inside = True
        elif inside and line.text[:1].strip():
            if _counts(line.text):
                return line
            inside = False
    errors = [each for each in lines if not each.warning and _counts(each.text)]
    failures = (each for how in (_EXCEPTION, _FAILED) for each in errors if how.match(each.text))
    return next(failures, None) or next((each for each in reversed(errors) if each.severe), None)


def _without_echoes(lines: Iterable[Line]) -> Iterator[Line]:
    """Drop the server's traceback if another process has one, which the server only passes on."""
    kept = list(lines)
    others = any(_TRACEBACK in each.text and each.process.startswith(_RANKS[:-1]) for each in kept)
    inside = False
    for line in kept:
        if others and line.process.startswith("APIServer"):
            inside = inside or _TRACEBACK in line.text
            if inside:
                continue
        yield line


def _lines(text: str) -> Iterator[Line]:
    """Yield the cleaned lines of a log, without those logged below a warning."""
    lines = [each for each in re.split(r"[\r\n]+", text) if each.strip()]
    kept = enumerate(lines[-MOST_LINES:], max(1, len(lines) - MOST_LINES + 1))
    cleaned = (each for number, raw in kept for each in _cleaned(number, raw[:_JSON_LINE]))
    # A line of JSON may hold thousands of lines.
    for line, level in deque(cleaned, 2 * MOST_LINES):
        yield from _stripped(line, level)


def _cleaned(number: int, text: str) -> Iterator[tuple[Line, str]]:
    """Yield the lines in a line of a log, each with its level if the line was JSON."""
    text = _TERMINAL.sub("", text)
    second = level = ""
    if (stamp := _STAMP.match(text)) and not _PREFIXES[2].match(text):
        text, second = text[stamp.end() :], stamp["time"]
    if text.startswith("{") and (parsed := _of_json(text)):
        level, text = parsed
    for each in text.split("\n"):
        yield Line(number, each[:_LINE], second=second), level


def _stripped(line: Line, level: str) -> Iterator[Line]:
    """Yield a line without its logger's prefix, unless its level is INFO or lower."""
    text, process, second = line.text, "", line.second
    stripped = True
    while stripped:
        stripped = False
        for prefix in _PREFIXES:
            if match := prefix.match(text):
                found = match.groupdict()
                process = process or found.get("process") or ""
                second = second or found.get("time") or ""
                level = level or found.get("level") or ""
                text = text[match.end() :]
                stripped = True
    quiet = level.upper() in _LOW
    if quiet and not any(each in text for each in _FAILURES):
        return
    if match := _UNWRAPPED.search(text):
        text = text[match.end() :]
    text = text.replace('\\"', '"').rstrip()
    if text:
        level = level.upper()
        yield Line(line.number, text, process, second, level in _WARNING, quiet, level in _SEVERE)


class _JsonLine(msgspec.Struct):
    """A JSON log line of zap, controller-runtime, slog or Python loggers."""

    level: str | None = None
    severity: str | None = None
    msg: str | None = None
    message: str | None = None
    error: str | None = None
    err: str | None = None


class _Message(msgspec.Struct, frozen=True):
    message: str | None = None


class _JsonMore(msgspec.Struct):
    """Fields of further loggers: the message of Rust's `tracing`, tracebacks of Python loggers."""

    fields: _Message = _Message()
    exc_info: str | None = None
    exception: str | None = None


_JSON: Final = msgspec.json.Decoder(_JsonLine)
_JSON_MORE: Final = msgspec.json.Decoder(_JsonMore)


def _of_json(text: str) -> tuple[str, str] | None:
    try:
        line = _JSON.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    pieces = [": ".join(filter(None, (line.msg, line.message, line.error, line.err)))]
    with suppress(msgspec.ValidationError):
        more = _JSON_MORE.decode(text)
        pieces += filter(None, (more.fields.message, more.exc_info, more.exception))
    return line.level or line.severity or "", "\n".join(pieces)
