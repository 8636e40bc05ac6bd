"""The cause in a container's log, found by the table of signatures.

The problem. A container that ends leaves a thousand lines, and the last says the least: each
process of an engine reports that another one failed, and each layer wraps the error of the layer
below. Quoting the end names a wrapper; quoting the first error names a harmless warning.

The choice. Loggers' prefixes (time, level, process, rank, JSON, klog) are stripped. Lines that are
not errors, or only say that something else failed, are dropped, and every remaining line is matched
against every row of the table. The surest row wins, then the earliest line; within the same second,
a worker precedes the engine, and the engine the server: the process that fails first knows why. If
no row matches, no cause is named, and the first exception is quoted to users who may read the log.

A log is untrusted: any tenant who may run a pod controls its text. So its lines and bytes are
limited first, and each line is cut before it is matched.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from reporter.diagnosis.signatures import Signature
from reporter.model.evidence import LogCause
from reporter.model.text import clean, clean_lines, cut, redact

MOST_LINES: Final = 1_000
"""Number of last lines that are read; a vLLM server with eight workers writes as many."""

MOST_BYTES: Final = 1024 * 1024
MOST_SHOWN: Final = 20
"""Number of last lines shown to users who may read the log."""

_SHOWN_BYTES: Final = 300
_LINE: Final = 4_096
_JSON_LINE: Final = 65_536
_VALUE_BYTES: Final = 200
_SPANNED: Final = 300
"""Characters read of a line that only continues another."""

_SENTENCE_BYTES: Final = 400

_TERMINAL: Final = re.compile(r"\x1b?\[[0-9;]{1,12}m|\x1b\[[0-9;:?]{0,20}[ -/]{0,3}[@-~]")
_STAMP: Final = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)[.,\d]{0,12}(?:Z|[+-]\d\d:?\d\d)?"
    r" (?:std(?:out|err) [FP] )?"
)
_PREFIXES: Final = (
    re.compile(r"\((?P<process>[\w.:-]{1,80}) pid=\d{1,10}(?:, ip=[\da-f.:]{1,45})?\) ?"),
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
        r"(?P<level>[IWEF])(?:\d{4}){1,2} (?P<time>\d\d:\d\d:\d\d)\.\d{1,9} {1,8}\d{1,8} "
        r"[\w./-]{1,120}:\d{1,6}\] ?"
    ),
    re.compile(r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL):(?: {1,8}|[\w.]{1,80}:)"),
    re.compile(r"\| (?P<level>TRACE|DEBUG|INFO|WARNING|ERROR|CRITICAL) {1,5}\| ?"),
    re.compile(r"\[(?P<level>[IWEF]) [\w./-]{1,80}:\d{1,6}\] ?"),
)
_UNWRAPPED: Final = re.compile(r"Worker failed with error '")
_FAILURES: Final = ("Error: ", "ERROR: ", "Exception: ")
_FRAME: Final = re.compile(r' {2,}File "|\s*[\^~]+\s*\Z|\s{2,}(?:raise\b|f["\'])')
"""Lines of a traceback without a message: also the code that raises, with its placeholders."""

_TRACEBACK: Final = "Traceback (most recent call last)"
_EXCEPTION: Final = re.compile(r"[A-Za-z_][\w.]{0,150}(?:Error|Exception|Interrupt|Exit|Failure)\b")
_FAILED: Final = re.compile(
    r"(?:fatal(?: error)?|error): |terminate called after"
    r"|thread '[^']{0,80}'.{0,40} panicked",
    re.IGNORECASE,
)
"""The beginning of the last error line of programs in Go, C++ and Rust, and of commands."""

_RANKS: Final = ("Worker", "VllmWorker", "RayWorker", "TP", "EngineCore", "APIServer")

WRAPPERS: Final = (
    "Engine core initialization failed", "WorkerProc initialization failed due to",
    "EngineCore failed to start", "EngineCore encountered an", "EngineDeadError",
    "Frontend process failed during engine core", "failed to be inspected",
    "Invalid repository ID or local directory specified",
    "For further information visit https://errors.pydantic.dev", "sigquit from a child process",
    "SIGQUIT received", "Initialization failed. Please see", "scheduler is dead",
    "Engine process failed to start", "WorkerProc failed to start", "for the root cause",
    "check the stack trace", "Background loop has errored", "in its creation task",
    "AWS S3 sync command failed with exit code", "rsync failed with code", "ChildFailedError",
)  # fmt: skip
"""Fragments of lines that only say that something else failed; such a line is never a cause."""

NOISE: Final = (
    "destroy_process_group() was not called", "leaked shared_memory", "leaked semaphore",
    "No available shared memory broadcast block found", "NCCL INFO",
    " on startup. Desired GPU memory utilization", "TORCH_USE_CUDA_DSA",
    "CUDA kernel errors might be asynchronously", "Cgroup memory preflight",
    "Trying to resume download", "Retrying", "thrown while requesting", "non-default args",
    "server_args=", "Ignore import error when loading", "stats.vllm.ai",
    "encountered while exporting", "Failed to export ",
)  # fmt: skip
"""Fragments of lines that healthy containers log too."""

_NOISE: Final = re.compile(r"frame #\d|TLS handshake error .{0,300}EOF")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log without its logger's prefix; `number` counts from 1.

    `quiet`: its level is INFO or lower, but it names an exception, as some servers log failures;
    used only if other lines show no cause, or if it is certain. `severe`: its level is an error.
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
    listens = [f"{each['host']}:{each['port']}" for each in _LISTENS.finditer(text)]
    seen = LogCause(
        listens=listens[-1] if listens else "",
        loads=_LOADS.search(text) is not None,
        serves=_SERVES.search(text) is not None,
        fetches=_fetched(text),
        lines=tuple(cut(each, _SHOWN_BYTES) for each in clean_lines(text)[-MOST_SHOWN:]),
    )
    every = list(_without_echoes(_without_afterthoughts(_lines(text))))
    lines = [each for each in every if not each.quiet]
    best = _best(_matches(lines, signatures))
    if best is None or best[1].row.sureness in _UNSURE:
        quiet = _best(_matches([each for each in every if each.quiet], signatures))
        told = quiet[1].row.sureness if quiet else "hint"
        if told == "certain" or (best is None and told != "hint"):
            best = quiet
    if best is None:
        first = _first_failure(lines)
        quoted = _masked(first) if first else None
        return LogReading(replace(seen, failure=quoted.text if quoted else ""), quoted=quoted)
    line, found, match = best
    values = {
        name: cut(redact(value).rstrip(".,;:"), _VALUE_BYTES)
        for name, value in match.groupdict().items()
        if value and value.rstrip(".,;:")
    }
    # Messages contain no URLs, and a model's URI is clear without its scheme.
    shown = {name: _SCHEME.sub("", value) for name, value in values.items()}
    cause = replace(
        seen,
        signature=found.id,
        kind=found.row.kind,
        sentence=cut(clean(found.cause(shown)), _SENTENCE_BYTES),
        action=cut(clean(found.action(shown)), _SENTENCE_BYTES),
        certain=found.row.sureness == "certain" and not line.quiet,
        symptom=found.row.sureness in _UNSURE,
        hint=found.row.sureness == "hint",
        values={name: each for name, each in values.items() if name[0] != "_"},
    )
    return LogReading(cause, found, _masked(line))


_SCHEME: Final = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://")
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

_FETCHES: Final = re.compile(r"Starting to load model (?P<model>[\w.-]{1,96}/[\w.-]{1,96}?)\.\.\.")


_FETCHED: Final = re.compile(
    r"Time spent downloading weights|(?:[Ll]oading|weights) took|KV cache|Model Streamer"
)


def _fetched(text: str) -> str:
    """Return the model of a hub that vLLM began to load, if no later step is in the log."""
    last = deque(_LOADS.finditer(text), 1)
    found = _FETCHES.match(text, last[0].start()) if last else None
    return clean(found["model"]) if found and not _FETCHED.search(text, found.end()) else ""


_SERVES: Final = re.compile(
    r'"POST /[\w./:-]{1,120} HTTP/\d\.\d" 2\d\d|Running: [1-9]\d{0,6} reqs|#running-req: [1-9]'
)
"""Log lines of uvicorn, vLLM and SGLang about requests that were, or are being, answered."""


def _masked(line: Line) -> Line:
    return replace(line, text=cut(clean(line.text), _SENTENCE_BYTES))


_Found = tuple[Line, Signature, re.Match[str]]
_UNSURE: Final = frozenset({"symptom", "hint"})
_SURENESS: Final = ("certain", "likely", "symptom", "hint")


def _matches(lines: Sequence[Line], signatures: Sequence[Signature]) -> Iterator[_Found]:
    seen: set[str] = set()
    for at, line in enumerate(lines):
        if line.text in seen or not _counts(line.text):
            continue
        seen.add(line.text)
        for each in signatures:
            if line.warning and not each.row.warning:
                continue
            match = _match(each, lines, at)
            if match and (each.row.sureness != "hint" or _tells(match[0])):
                yield line, each, match


_QUOTES_WORDS: Final = re.compile(
    r"(?:[^'\"`\u201c\u2018]|(?<=[a-z])'(?=[a-z])|"
    r"'[^'\s]{1,64}'|\"[^\"\s]{1,64}\"|`[^`\s]{1,64}`)++"
)
_GOES_ON: Final = re.compile(
    r"\bretr(?:y|ied)|\bfall(?:s|ing)? ?back|\bignor(?:ed|ing)|\bskipp(?:ed|ing)"
    r"|after \w{0,12} ?shutdown|returned non-zero exit|\bsee [\w ]{0,40}\babove|\babove for "
    r"|\bprompts?\b",
    re.IGNORECASE,
)
"""Words of an exception about a request, or that ended nothing, came with the end, or only refers
to another one."""


def _tells(text: str) -> bool:
    """Return whether a hint may be told: a sentence within quotation marks may be a user's."""
    return bool(_QUOTES_WORDS.fullmatch(text)) and not _GOES_ON.search(text)


def _match(signature: Signature, lines: Sequence[Line], at: int) -> re.Match[str] | None:
    """Match a row against a line; if its pattern spans several, together with the next ones."""
    line = lines[at].text
    if signature.row.lines == 1:
        return signature.pattern.search(line)
    after = (each.text[:_SPANNED] for each in lines[at + 1 : at + signature.row.lines])
    found = signature.pattern.search("\n".join((line, *after)))
    return found if found is not None and found.start() <= len(line) else None


def _best(found: Iterable[_Found]) -> _Found | None:
    matches = list(found)
    if not matches:
        return None
    sureness = min(map(_unsureness, matches))
    sure = [each for each in matches if _unsureness(each) == sureness]
    first = min(sure, key=lambda each: each[0].number)[0]
    beside = [e for e in sure if e[0] is first or (first.second and e[0].second == first.second)]
    return min(beside, key=lambda each: (each[0].rank, each[0].number, each[1].order))


def _unsureness(found: _Found) -> int:
    """Return the rank of a match; what is only warned of is no better than what an error says."""
    line, signature, _ = found
    vague = line.warning and signature.row.sureness in _UNSURE
    return len(_SURENESS) if vague else _SURENESS.index(signature.row.sureness)


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


_AFTERTHOUGHTS: Final = ("Exception ignored ", "Error in atexit._run_exitfuncs")


def _without_afterthoughts(lines: Iterable[Line]) -> Iterator[Line]:
    """Drop exceptions of destructors and exit handlers, which follow the one that ended it."""
    inside = False
    for line in lines:
        if line.text.startswith(_AFTERTHOUGHTS):
            inside = True
        elif inside and not (line.text[:1].isspace() or line.text.startswith(_TRACEBACK)):
            inside = False
            if not _EXCEPTION.match(line.text):
                yield line
        elif not inside:
            yield line


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
    quiet = level.upper() in {"DEBUG", "INFO", "I", "TRACE"}
    if quiet and not any(each in text for each in _FAILURES):
        return
    if match := _UNWRAPPED.search(text):
        text = text[match.end() :]
    text = text.replace('\\"', '"').rstrip()
    if text:
        level = level.upper()
        yield Line(
            line.number,
            text,
            process,
            second,
            level in {"WARNING", "WARN", "W"},
            quiet,
            level in {"ERROR", "CRITICAL", "FATAL", "E", "F"},
        )


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
