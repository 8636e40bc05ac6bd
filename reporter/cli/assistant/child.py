"""Commands of this program as processes of their own.

What an assistant asks for may be large or may hang. A process gives its memory back, can be ended,
and cannot write into the stream of the protocol.
"""

import asyncio
import json
import sys
from typing import Final

from reporter.arguments import PROGRAM, USAGE_STATUS
from reporter.errors import UsageError
from reporter.model.text import cut

SECONDS: Final = 120.0
"""Longest time for one command."""

_MOST_BYTES: Final = 64 * 2**20
_SHOWN: Final = 2000


async def output_of(command: str, *words: str, seconds: float = SECONDS) -> object:
    """Return the JSON that a command of ours prints.

    Raises:
        UsageError: it could not be carried out; the message is that of the command.

    """
    # -P: a folder named `reporter` where the assistant runs is not ours.
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "reporter", command, *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(seconds):
            out, err = await _read(child)
            status = await child.wait()
    except TimeoutError:
        raise UsageError(f"{command}: no answer within {seconds:.0f} s") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if status >= USAGE_STATUS or status < 0:
        raise UsageError(_said(err, command) or f"{command}: ended with status {status}")
    return json.loads(out)


async def _read(child: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    if child.stdout is None or child.stderr is None:
        raise RuntimeError("the process has no pipes")
    return await asyncio.gather(_most(child.stdout), _most(child.stderr))


async def _most(stream: asyncio.StreamReader) -> bytes:
    found = bytearray()
    while part := await stream.read(2**16):
        found += part
        if len(found) > _MOST_BYTES:
            raise UsageError(f"the answer is larger than {_MOST_BYTES} bytes")
    return bytes(found)


def _said(err: bytes, command: str) -> str:
    """Return what a command said, without who said it."""
    text = err.decode("utf-8", "replace").strip()
    for prefix in (f"{PROGRAM}: ", f"{command}: "):
        text = text.removeprefix(prefix)
    return cut(text, _SHOWN)
