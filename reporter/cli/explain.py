"""`status-reporter explain`: the catalogue."""

import json
import sys
from collections.abc import Sequence
from difflib import get_close_matches

from reporter.catalogue.reasons import BY_NAME, REASONS
from reporter.catalogue.render import reason_document, reason_table, reason_text
from reporter.cli.parser import Parser
from reporter.errors import UsageError


def main(argv: Sequence[str]) -> int:
    """Print one reason, or a line for each.

    Raises:
        UsageError: there is no such reason.

    """
    parser = Parser(
        "explain",
        "Say what a reason means, what raises it and what to do.",
        arguments="[REASON] [FLAGS]",
    )
    parser.add_argument("reason", nargs="?", metavar="REASON", help="all in short by default")
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="text or json (text)"
    )
    arguments = parser.parse(argv)
    name = _named(arguments.reason) if arguments.reason else None
    if arguments.output == "json":
        content = (
            reason_document(BY_NAME[name]) if name else [reason_document(each) for each in REASONS]
        )
        sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(reason_text(BY_NAME[name]) if name else reason_table())
    return 0


def _named(text: str) -> str:
    """Return the reason that is meant; letter case does not matter."""
    lowered = {name.lower(): name for name in BY_NAME}
    if text.lower() in lowered:
        return lowered[text.lower()]
    near = get_close_matches(text.lower(), lowered, n=1)
    hint = f"did you mean {lowered[near[0]]}?" if near else "without one, explain lists all"
    raise UsageError(f"{text!r} is not a reason; {hint}")
