"""`kubectl status-reporter`: `check` as a plugin of kubectl.

kubectl runs the executable `kubectl-status_reporter` that it finds on PATH, with its own arguments
and environment, and returns its exit status.
"""

import sys
from collections.abc import Sequence
from typing import Final

from reporter.arguments import Parser
from reporter.cli.check import DESCRIPTION, add_check_flags, check
from reporter.cli.completion import complete_flags
from reporter.cli.configure import EPILOG
from reporter.cli.main import exit_status
from reporter.errors import UsageError

PROGRAM: Final = "kubectl status-reporter"
_EXAMPLES: Final = (
    (PROGRAM, "the cluster of the current context"),
    (f"{PROGRAM} -n chat-models", "one namespace, with the rights there"),
    (f"{PROGRAM} --watch", "again on every change, until Ctrl-C"),
    (f"{PROGRAM} --explain clusterBBRNotReady", "what a reason means, and what to do"),
)


def program() -> int:
    return exit_status(lambda: main(sys.argv[1:]), PROGRAM)


def complete() -> int:
    return exit_status(lambda: complete_flags(parser(), sys.argv[1:]), PROGRAM)


def main(argv: Sequence[str]) -> int:
    arguments = parser().parse(argv)
    if arguments.explain is None:
        return check(arguments, PROGRAM)
    from reporter.cli import explain

    if arguments.output not in {"text", "json"}:
        raise UsageError(f"--explain: -o {arguments.output} is for reports; allowed: text, json")
    reason = [arguments.explain] if arguments.explain else []
    config = ["--config", arguments.config] if arguments.config else []
    return explain.main([*reason, *config, "-o", arguments.output])


def parser() -> Parser:
    usage = "[PATH...] [FLAGS]"
    made = Parser("", DESCRIPTION, EPILOG, arguments=usage, examples=_EXAMPLES, program=PROGRAM)
    add_check_flags(made)
    made.add_argument(
        "--explain",
        metavar="REASON",
        nargs="?",
        const="",
        help="what a reason means and what to do; without REASON, a line for each reason",
    )
    return made
