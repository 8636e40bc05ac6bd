"""`status-reporter mcp`: read-only tools for assistants, by the Model Context Protocol."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reporter.arguments import Parser
from reporter.cli.configure import EPILOG, add_setting_flags, settings_from
from reporter.errors import UsageError

if TYPE_CHECKING:
    import argparse

_DESCRIPTION: Final = (
    "Serve read-only tools to an assistant over standard input and output, by the Model Context "
    "Protocol: report, "
    "explain, check_dump and history."
)
_EXAMPLES: Final = (
    ("status-reporter mcp --context production", "about the live cluster"),
    ("status-reporter mcp --url http://127.0.0.1:8082", "about what a running daemon sees"),
    ("status-reporter mcp --from dump.tgz", "about a dump"),
)


def main(argv: Sequence[str]) -> int:
    arguments = command_parser().parse(argv)
    settings = settings_from(arguments)
    _require_sense(arguments)
    try:
        from reporter.cli.assistant import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        raise UsageError(
            "this needs the extra mcp, which is not installed: pip install --no-deps "
            "--require-hashes -r requirements-mcp.lock (in the checkout and in each release)"
        ) from None
    from reporter.daemon import logs

    logs.configure("error")
    arguments.url = (arguments.url or "").rstrip("/")
    serve(arguments, settings)
    return 0


def _require_sense(arguments: "argparse.Namespace") -> None:
    if arguments.url and arguments.namespace:
        raise UsageError("-n limits what is read from a cluster; a daemon has read everything")
    for path in arguments.sources:
        if not Path(path).exists():
            raise UsageError(f"--from {path}: no such file or folder")
    for field in ("kubeconfig", "context"):
        if (arguments.sources or arguments.url) and getattr(arguments, field):
            other = "--from" if arguments.sources else "--url"
            raise UsageError(f"--{field} is not used with {other}; leave out one of them")
    if not Path(arguments.dumps).is_dir():
        raise UsageError(f"--dumps {arguments.dumps}: no such folder")


def command_parser() -> Parser:
    parser = Parser("mcp", _DESCRIPTION, EPILOG, examples=_EXAMPLES)
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--url", help="a running daemon, where it serves its report, such as http://127.0.0.1:8082"
    )
    source.add_argument(
        "--from",
        dest="sources",
        metavar="PATH",
        action="append",
        default=[],
        help="a dump: a file, a folder or an archive, as for check; may be repeated",
    )
    parser.add_argument(
        "-n",
        "--namespace",
        help="only this namespace: nothing else is read, so rights there are enough",
    )
    parser.add_argument(
        "--dumps",
        metavar="FOLDER",
        default=".",
        help="check_dump reads only dumps below this folder (the current folder)",
    )
    add_setting_flags(parser, daemon=False)
    # The defaults of flags that only `check` has.
    parser.set_defaults(complete=False, now=None, observed_for=None, manifests=None)
    return parser
