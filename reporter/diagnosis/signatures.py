r"""The table of log signatures: what a line of a container's log says about why it does not run.

The problem. Anybody who may run a pod decides what its log says, and Python's `re` knows no time limit: a
pattern with two unbounded repeats can take hours over one line. The table also takes rows from users.

The choice. A line is cut before it is matched (`reporter.diagnosis.logs`), and a pattern may not backtrack
far: each unbounded repeat is possessive (`\d++`), which never gives back what it took, or ends the
pattern; what repeats otherwise is bounded, in how many ways all of it can match stays below
`MOST_BACKTRACKING`; and none begins with a repeat. `pattern_fault` holds each row to that, ours and the user's alike.

What does not do: a time limit beside (the match holds the interpreter's lock), and RE2, which is linear by
construction but a compiled dependency for this alone, without the lookbehind that a few rows need.
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
    """A row as it stands in a file; `reporter/diagnosis/log-signatures.yaml` says what the keys mean."""

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
    """A row that is right, ready to be searched in a cleaned line; the one of lower `order` counts."""

    id: str
    row: Row
    pattern: re.Pattern[str]
    order: int

    def cause(self, values: Mapping[str, str]) -> str:
        """Return what it means, as a clause without a full stop."""
        return _filled(self.row.means, values)

    def action(self, values: Mapping[str, str]) -> str:
        return _filled(self.row.do, values)


def texts(text: str | Sequence[str]) -> Sequence[str]:
    """Return the texts of a row, of which the first counts whose values are there."""
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
    """Return the rows of a file of the user's own, before those of the program.

    Raises UsageError: the file cannot be read, or a row is wrong; the message names it.
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
        raise Unreadable("it is no mapping of signatures by their ids")
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
        raise Unreadable(f"signature {named!r}: an id is lower-case letters, digits and -")
    if named in known:
        raise Unreadable(f"signature {named}: the program has one of that id; choose another")
    try:
        row = msgspec.convert(value, Row)
        pattern = re.compile(row.match)
    except msgspec.ValidationError as error:
        raise Unreadable(f"signature {named}: {cut(clean(str(error)), _CAUSE_BYTES)}") from None
    except (re.error, RecursionError, OverflowError) as error:
        cause = cut(clean(str(error)), _CAUSE_BYTES)
        raise Unreadable(f"signature {named}: match is no regular expression: {cause}") from None
    if fault := pattern_fault(row.match) or _text_fault(row, pattern):
        raise Unreadable(f"signature {named}: {fault}")
    return Signature(named, row, pattern, order)


def _text_fault(row: Row, pattern: re.Pattern[str]) -> str:
    if pattern.search(""):
        return "match fits an empty line"
    for text in (*texts(row.means), *texts(row.do)):
        for name in _VALUE.findall(text):
            if name not in pattern.groupindex:
                return f"{{{name}}} is no named group of match"
    return ""


def pattern_fault(pattern: str) -> str:
    """Return why a pattern may take too long over a line; empty if it does not."""
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
            fault = "match refers back to a group, which is not allowed"
    elif begins:
        fault = f"match begins with a repeat ({what}); put \\b or what comes before it in front"
    elif how == "+" or what[0] == "?":
        pass
    elif before == ")":
        fault = f"match repeats a group ({what}); make it possessive ({what}+)"
    elif unbounded and (how or not _END.match(pattern, piece.end())):
        fault = (
            f"{what} in match is unbounded; write it possessive ({what[0]}+) where what follows is no part "
            "of it, else bounded, such as .{0,300}"
        )
    return fault


def _most(piece: re.Match[str]) -> int:
    if piece["how"] == "+" or piece["repeat"][0] in "*+":
        return 1
    if piece["repeat"] == "?":
        return 2
    bounds = [int(each) for each in re.findall(r"\d+", piece["repeat"])]
    return max(1, bounds[-1] - bounds[0]) if len(bounds) > 1 else 1
