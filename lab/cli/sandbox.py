"""`status-reporter sandbox`: the embedded API server alone, preloaded from a dump."""

import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from reporter.arguments import Parser
from reporter.errors import UsageError
from reporter.interrupts import own_interrupts
from reporter.snapshot.documents import (
    BrokenDocument,
    Document,
    DumpError,
    read_documents,
    sources_of,
)

_KUBECONFIG: Final = "sandbox.kubeconfig"
_LAST_PORT: Final = 65_535


def main(argv: Sequence[str]) -> int:
    """Serve until interrupted.

    Raises:
        UsageError: the dump cannot be read, or the port cannot be used.

    """
    parser = Parser("sandbox", "Serve a small API server in memory, to try the reporter on.")
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
    arguments = parser.parse(argv)
    port = _port(arguments.port)
    documents = _documents(arguments.sources)
    try:
        with own_interrupts():
            asyncio.run(_serve(documents, port, Path(arguments.kubeconfig)))
    except OSError as error:
        raise UsageError(f"cannot serve: {(error.strerror or str(error)).lower()}") from None
    return 0


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


async def _serve(documents: list[object], port: int, kubeconfig: Path) -> None:
    from lab.sandbox.serve import running

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with running(documents, port=port, kubeconfig_path=kubeconfig) as sandbox:
        sys.stdout.write(f"{sandbox.url}\nkubectl --kubeconfig {kubeconfig} get pods -A\n")
        sys.stdout.flush()
        await stop.wait()
