"""`status-reporter explain`: the catalogue, and what a log says by the table of signatures."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from reporter.arguments import CONFIG_VARIABLE, Parser
from reporter.catalogue.render import reason_document, reason_table, reason_text
from reporter.errors import UsageError
from reporter.model.catalogue import Catalogue
from reporter.stacks import BUILT_IN

_EXAMPLES: Final = (
    ("status-reporter explain", "a line for each reason"),
    ("status-reporter explain clusterBBRNotReady", "one, with what to do"),
    ("status-reporter explain eppnotready", "which reasons have that in their name"),
    ("kubectl logs POD -p | status-reporter explain --log -", "why a container ended"),
)
_SHORTEST: Final = 3
_OFFERED: Final = 12


def main(argv: Sequence[str]) -> int:
    """Print one reason, a line for each, or what a log says.

    Raises:
        UsageError: there is no such reason, or a file cannot be used.

    """
    arguments = command_parser().parse(argv)
    if arguments.log is not None:
        if arguments.reason:
            raise UsageError("a REASON and --log do not go together")
        from reporter.cli.explain_log import explain_log

        as_json = arguments.output == "json"
        return explain_log(arguments.log, signatures=arguments.log_signatures, as_json=as_json)
    catalogue = catalogue_of(arguments.config)
    reason = catalogue[_named(arguments.reason, catalogue)] if arguments.reason else None
    if arguments.output == "json":
        content = (
            reason_document(reason, catalogue)
            if reason
            else [reason_document(each, catalogue) for each in catalogue]
        )
        sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(reason_text(reason, catalogue) if reason else reason_table(catalogue))
    return 0


def command_parser() -> Parser:
    """Return the parser of the command."""
    parser = Parser(
        "explain",
        "Say what a reason means, what raises it and what to do; or why a container ended, by its log.",
        arguments="[REASON] [FLAGS]",
        examples=_EXAMPLES,
    )
    parser.add_argument("reason", nargs="?", metavar="REASON", help="all in short by default")
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
        help="with --log: signatures of your own, YAML; docs/log-signatures.md says how",
    )
    parser.add_argument(
        "--config",
        metavar="PATH",
        help="file of settings, YAML, with reasons of your own; STATUS_REPORTER_CONFIG",
    )
    return parser


def catalogue_of(config: str | None) -> Catalogue:
    """Return the catalogue; settings are read only where a file is named, which may declare more."""
    if not (config or os.environ.get(CONFIG_VARIABLE)):
        return BUILT_IN
    from reporter.cli.configure import load_settings

    return load_settings({}, config).catalogue


def _named(text: str, catalogue: Catalogue) -> str:
    """Return the reason that is meant; letter case does not matter."""
    lowered = {reason.name.lower(): reason.name for reason in catalogue}
    if text.lower() in lowered:
        return lowered[text.lower()]
    raise UsageError(f"{text!r} is not a reason; {_hint(text.lower(), lowered)}")


def _hint(text: str, lowered: Mapping[str, str]) -> str:
    """Return which reasons may be meant: all that a word is part of, else the nearest."""
    parts = [name for lower, name in lowered.items() if len(text) >= _SHORTEST and text in lower]
    near = parts or [lowered[each] for each in get_close_matches(text, lowered, n=1)]
    if not near:
        return "without a name all are listed"
    if len(near) == 1:
        return f"did you mean {near[0]}?"
    more = f" and {len(near) - _OFFERED} more" if len(near) > _OFFERED else ""
    return f"did you mean one of {', '.join(near[:_OFFERED])}{more}?"
