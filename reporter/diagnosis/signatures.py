r"""The table of signatures: which lines of a log show which cause, and what a valid row is.

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
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from reporter.errors import UsageError
from reporter.model.text import clean, cut
from reporter.yaml_reader.limits import Limits, Unreadable
from reporter.yaml_reader.reading import decoded, read_yaml

MOST_BACKTRACKING: Final = 5_000
MOST_ROWS: Final = 500
MOST_SPANNED: Final = 8
"""Number of lines that a pattern may span."""

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

Sureness = Literal["certain", "likely", "symptom", "hint"]
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
    lines: Annotated[int, msgspec.Meta(ge=1, le=MOST_SPANNED)] = 1


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
