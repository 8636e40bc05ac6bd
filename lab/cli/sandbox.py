"""`status-reporter sandbox`: the embedded API server alone, preloaded from a dump."""

import asyncio
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from reporter.arguments import Parser
from reporter.errors import UsageError
from reporter.interrupts import own_interrupts
from reporter.snapshot.documents import BrokenDocument, Document, read_documents, sources_of
from reporter.snapshot.inputs.files import DumpError

_KUBECONFIG: Final = "sandbox.kubeconfig"
_LAST_PORT: Final = 65_535
_EXAMPLES: Final = (
    ("status-reporter sandbox --from examples/healthy-stack/", "a stack without a fault"),
    ("kubectl --kubeconfig sandbox.kubeconfig get pods -A", "in another terminal"),
)


def main(argv: Sequence[str]) -> int:
    """Serve until interrupted.

    Raises:
        UsageError: the dump cannot be read, or the port cannot be used.

    """
    arguments = command_parser().parse(argv)
    port = _port(arguments.port)
    documents = _documents(arguments.sources)
    try:
        with own_interrupts():
            port = asyncio.run(_serve(documents, port, Path(arguments.kubeconfig)))
    except OSError as error:
        raise UsageError(f"cannot serve: {(error.strerror or str(error)).lower()}") from None
    sys.stderr.write(_farewell(arguments.sources, port, arguments.kubeconfig))
    return 0


def command_parser() -> Parser:
    parser = Parser(
        "sandbox", "Serve a small API server in memory, to try the reporter on.", examples=_EXAMPLES
    )
    parser.add_argument(
        "--from",
        dest="sources",
        metavar="PATH",
        action="append",
        default=[],
        help="objects to start with: a file, a folder, or - for standard input; may be repeated",
    )
    parser.add_argument(
        "--kubeconfig",
        metavar="PATH",
        default=_KUBECONFIG,
        help=f"where to write the kubeconfig ({_KUBECONFIG})",
    )
    parser.add_argument("--port", metavar="N", default="0", help="port, 0 for any (0)")
    return parser


def _farewell(sources: Sequence[str], port: int, kubeconfig: str) -> str:
    """Say how to start again with the same data and the address that clients know."""
    given = [part for path in sources for part in ("--from", path)]
    flags = shlex.join([*given, "--port", str(port), "--kubeconfig", kubeconfig])
    again = f"status-reporter sandbox {flags}"
    return f"Stopped; what was changed is gone. Again, with the same data and address:\n{again}\n"


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _LAST_PORT:
        raise UsageError(f"--port: {text!r} is not allowed; allowed: 0 to {_LAST_PORT}")
    return int(text)


def _documents(paths: Sequence[str]) -> list[object]:
    values: list[object] = []
    try:
        for document in read_documents(sources_of(paths)):
            match document:
                case Document(value=value):
                    values.append(value)
                case BrokenDocument(source=source, cause=cause):
                    sys.stderr.write(f"{source}: left out: {cause}\n")
    except DumpError as error:
        raise UsageError(f"--from: {error}") from None
    return values


async def _serve(documents: list[object], port: int, kubeconfig: Path) -> int:
    """Serve until a signal ends it, and return the port."""
    from lab.sandbox.controllers import running

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with running(documents, port=port, kubeconfig_path=kubeconfig) as sandbox:
        sys.stdout.write(f"{sandbox.url}\nkubectl --kubeconfig {kubeconfig} get pods -A\n")
        sys.stdout.flush()
        await stop.wait()
        return urlsplit(sandbox.url).port or port
