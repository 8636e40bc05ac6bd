"""`status-reporter explain`: the catalogue, and what a container's log means, without a cluster."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from reporter.arguments import CONFIG_VARIABLE, Parser
from reporter.catalogue.render import reason_document, reason_table, reason_text
from reporter.catalogue.ways import Passing, explaining
from reporter.diagnosis.logs import MOST_LINES, LogReading, read_log
from reporter.diagnosis.signatures import signatures_with
from reporter.errors import UsageError
from reporter.model.catalogue import Catalogue
from reporter.model.text import clean, json_text
from reporter.stacks import BUILT_IN, describe_dialects

_EXAMPLES: Final = (
    ("status-reporter explain", "a line for each reason"),
    ("status-reporter explain clusterBBRNotReady", "one, with what to do"),
    ("status-reporter explain bbr_unavailable", "which reasons explain what a client got"),
    ("status-reporter explain eppnotready", "which reasons have that in their name"),
    ("kubectl logs POD -p | status-reporter explain --log -", "why a container ended"),
)
_SHORTEST: Final = 3
_OFFERED: Final = 12


def main(argv: Sequence[str]) -> int:
    arguments = command_parser().parse(argv)
    if arguments.log is not None:
        if arguments.reason:
            raise UsageError("a REASON and --log do not go together")
        # Check the signatures first: a log may be a pipe, which can be read only once.
        table = signatures_with(arguments.log_signatures)
        reading = read_log(_text(arguments.log), table)
        sys.stdout.write(_document(reading) if arguments.output == "json" else _log_text(reading))
        return 0
    if arguments.dialects is not None and not arguments.reason:
        lines = describe_dialects(arguments.dialects, arguments.sources)
        sys.stdout.write("".join(f"{each}\n" for each in lines))
        return 0
    catalogue = catalogue_of(arguments.config, arguments.dialects)
    if arguments.output == "json":
        content = explained(arguments.reason or "", catalogue)
        sys.stdout.write(json_text(content) + "\n")
    elif not arguments.reason:
        sys.stdout.write(reason_table(catalogue))
    elif ways := explaining(arguments.reason):
        sys.stdout.write(_clients(ways, catalogue))
    else:
        name = _named(arguments.reason, catalogue)
        sys.stdout.write(reason_text(catalogue[name], catalogue))
    return 0


def explained(asked: str, catalogue: Catalogue) -> dict[str, object] | list[dict[str, object]]:
    """Return the reason named `asked`, the reasons that explain an answer to clients, or all."""
    if not asked:
        return [reason_document(each, catalogue) for each in catalogue]
    if ways := explaining(asked):
        names = (name for each in ways for name in each.reasons)
        return [reason_document(catalogue[name], catalogue) for name in names]
    return reason_document(catalogue[_named(asked, catalogue)], catalogue)


def _clients(ways: Sequence[Passing], catalogue: Catalogue) -> str:
    lines: list[str] = []
    for each in ways:
        lines.append(f"{each.clients}: {each.part}; without it requests {each.without}.")
        lines += [f"  {name}: {catalogue[name].summary}" for name in each.reasons]
        lines.append(f"  Source: {each.source}")
    return "\n".join(lines) + "\n"


def command_parser() -> Parser:
    parser = Parser(
        "explain",
        "Say what a reason means, what raises it and what to do; or, from its log, why a container "
        "ended.",
        arguments="[REASON] [FLAGS]",
        examples=_EXAMPLES,
    )
    parser.add_argument("reason", nargs="?", metavar="REASON", help="a line for each by default")
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="text or json (text)"
    )
    parser.add_argument(
        "--log",
        metavar="FILE",
        help="a container's log (- reads standard input): say what it means, without a cluster",
    )
    parser.add_argument(
        "--log-signatures",
        type=Path,
        metavar="FILE",
        help="with --log: signatures of your own, YAML; see docs/log-signatures.md",
    )
    parser.add_argument(
        "--dialects",
        "--dialect",
        type=Path,
        metavar="FILE",
        help="kinds of models of your own, YAML: what they read, and find in a dump (--from)",
    )
    parser.add_argument(
        "--from",
        dest="sources",
        metavar="PATH",
        action="append",
        default=[],
        help="with --dialects: a dump; if it has CRDs, the paths are compared with their schemas",
    )
    parser.add_argument(
        "--config",
        metavar="PATH",
        help="file of settings, YAML, with reasons of your own; STATUS_REPORTER_CONFIG",
    )
    return parser


def catalogue_of(config: str | None, dialects: Path | None = None) -> Catalogue:
    """Return the catalogue; settings are read only if a file is given that may add to it."""
    if not (config or dialects or os.environ.get(CONFIG_VARIABLE)):
        return BUILT_IN
    from reporter.cli.configure import load_settings

    return load_settings({"dialects": str(dialects)} if dialects else {}, config).catalogue


def _named(text: str, catalogue: Catalogue) -> str:
    lowered = {reason.name.lower(): reason.name for reason in catalogue}
    if text.lower() in lowered:
        return lowered[text.lower()]
    raise UsageError(f"{text!r} is not a reason; {_hint(text.lower(), lowered)}")


def _hint(text: str, lowered: Mapping[str, str]) -> str:
    parts = [name for lower, name in lowered.items() if len(text) >= _SHORTEST and text in lower]
    near = parts or [lowered[each] for each in get_close_matches(text, lowered, n=1)]
    if not near:
        return "without a name, all are listed"
    if len(near) == 1:
        return f"did you mean {near[0]}?"
    more = f" and {len(near) - _OFFERED} more" if len(near) > _OFFERED else ""
    return f"did you mean one of {', '.join(near[:_OFFERED])}{more}?"


STDIN: Final = "-"
_MOST_BYTES: Final = 4 * 1024 * 1024
_WORD: Final = re.compile(r"\A[a-z]+(?= )")
"""A first word in lower case; a name stays as it is."""

_SURENESS: Final = {
    "certain": "the line alone is the cause",
    "likely": "check one more fact before you rely on it",
    "symptom": "not a cause by itself: something before it is",
    "hint": "it counts because no other row matches",
}


def _text(source: str) -> str:
    try:
        if source == STDIN:
            # A pipe has no end to seek to.
            raw = b""
            while part := sys.stdin.buffer.read(_MOST_BYTES):
                raw = (raw + part)[-_MOST_BYTES:]
        else:
            with Path(source).open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - _MOST_BYTES))
                raw = file.read(_MOST_BYTES)
    except OSError as error:
        raise UsageError(f"{clean(source)} cannot be read: {error.strerror}") from None
    return raw.decode("utf-8", "replace")


def _log_text(reading: LogReading) -> str:
    cause, row = reading.cause, reading.matched
    if row is None:
        lines = [f"No signature matches the last {MOST_LINES:,} lines."]
        if reading.quoted:
            lines.append(
                f"The first failure in it, line {reading.quoted.number}: {reading.quoted.text}"
            )
        return "\n".join(lines) + "\n"
    lines = [
        f"{_WORD.sub(lambda match: match[0].capitalize(), cause.sentence)}.",
        f"  What to do: {cause.action}",
        f"  Signature:  {row.id} ({cause.kind}); {row.row.sureness}: {_SURENESS[row.row.sureness]}",
    ]
    if reading.quoted:
        lines.append(
            f"  Line {reading.quoted.number}:{' ' * max(1, 6 - len(str(reading.quoted.number)))}"
            f"{reading.quoted.text}"
        )
    return "\n".join(lines) + "\n"


def _document(reading: LogReading) -> str:
    cause, row, line = reading.cause, reading.matched, reading.quoted
    content = {
        "signature": row.id if row else None,
        "class": cause.kind or None,
        "sureness": row.row.sureness if row else None,
        "cause": cause.sentence or None,
        "action": cause.action or None,
        "values": dict(cause.values),
        "line": {"number": line.number, "text": line.text} if line else None,
    }
    return json_text(content) + "\n"
