"""The real daemon, as the demo runs it."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

_START_SECONDS: Final = 60.0
"""Long, because the first start compiles all modules and the machine may be busy."""
_STOP_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.05
_PAGE: Final = "report-bind-address"

LISTENERS: Final = (
    "--metrics-bind-address=0",
    "--health-probe-bind-address=0",
    f"--{_PAGE}=127.0.0.1:0",
)
"""Only the page listens, on a free port chosen by the kernel."""


@asynccontextmanager
async def daemon(flags: Sequence[str], log: Path) -> AsyncIterator[str | None]:
    """Run the daemon while the context is open, with its log in a file.

    Yields the address of its page, or None if the log does not name it in time.
    """
    async with program(flags, log) as process:
        yield await _page(process, log)


@asynccontextmanager
async def program(flags: Sequence[str], log: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    clean = {
        name: each for name, each in os.environ.items() if not name.startswith("STATUS_REPORTER_")
    }
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "reporter", "run", *flags, stderr=output, env=clean
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.terminate()
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


async def _page(process: asyncio.subprocess.Process, log: Path) -> str | None:
    try:
        async with asyncio.timeout(_START_SECONDS):
            while (page := page_in(_read(log))) is None:
                if process.returncode is not None:
                    return None
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError:
        return None
    return page


def _read(log: Path) -> str:
    return log.read_text("utf-8", "replace")


def page_in(log: str) -> str | None:
    """Return the page's address from a daemon's log, or None if it is not there yet."""
    for line in log.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            # The line is incomplete, or a message of Python itself.
            continue
        if isinstance(entry, dict) and entry.get("setting") == _PAGE and "address" in entry:
            return f"http://{entry['address']}/"
    return None
