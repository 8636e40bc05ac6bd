"""A real vLLM that serves the tiny model on a port of the loopback address."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp

from tests.engine import tiny_model
from tests.engine.errors import EngineError

BLOCKS = 40
BLOCK_TOKENS = 32
START_SECONDS = 900.0
"""A machine that is busy takes minutes to import it all."""

_FLAGS = (
    "--load-format=dummy",
    "--enforce-eager",
    f"--block-size={BLOCK_TOKENS}",
    f"--num-gpu-blocks-override={BLOCKS}",
    f"--max-model-len={tiny_model.MOST_TOKENS}",
)
"""Room for 1,248 tokens, as one block is never used."""

_ENVIRONMENT = {
    "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
}
"""It tells nobody that it runs, asks nobody for models, and takes 1 GiB for its cache."""


class Server:
    """vLLM as a process group of its own, which can be started again.

    Args:
        python: the interpreter that has vLLM.
        model: folder of the model.
        log: where it writes.
        flags: more of them.

    """

    def __init__(self, python: Path, model: Path, log: Path, *, flags: Sequence[str] = ()) -> None:
        self._python = python
        self._model = model
        self._log = log
        self._flags = (*_FLAGS, *flags)
        self._process: asyncio.subprocess.Process | None = None
        self.port = _free_port()
        self.starts = 0

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start it, and wait until it says that it is healthy.

        Raises:
            EngineError: it ended, or is not healthy in time.

        """
        command = (
            str(self._python), "-m", "vllm.entrypoints.cli.main", "serve", str(self._model),
            f"--served-model-name={tiny_model.NAME}", "--host=127.0.0.1", f"--port={self.port}", *self._flags,
        )  # fmt: skip
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                cwd=self._model,  # where no folder hides a package
                env={**_without_ours(os.environ), **_ENVIRONMENT},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.starts += 1
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._healthy(self._process)
        except TimeoutError:
            raise EngineError(f"vLLM was not healthy within {START_SECONDS:g} s") from None

    async def release(self) -> str:
        """Return what it calls its release, without the device."""
        async with aiohttp.ClientSession() as session, session.get(f"{self.url}/version") as answer:
            told: dict[str, str] = await answer.json()
        return told["version"].partition("+")[0]

    async def stop(self) -> None:
        """End it and all that it started."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        self._process = None

    @asynccontextmanager
    async def hung(self) -> AsyncIterator[None]:
        """Let the engine's own process hang while entered; the one that serves HTTP goes on."""
        engines = list(self._engines())
        if not engines:
            raise EngineError("no process of vLLM calls itself EngineCore")
        try:
            _signal(engines, signal.SIGSTOP)
            yield
        finally:
            _signal(engines, signal.SIGCONT)

    async def _healthy(self, process: asyncio.subprocess.Process) -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                if process.returncode is not None:
                    end = self._log.read_text("utf-8", "replace")[-2000:]
                    raise EngineError(f"vLLM ended with {process.returncode}:\n{end}")
                with suppress(aiohttp.ClientError):
                    async with session.get(f"{self.url}/health") as answer:
                        if answer.status == 200:
                            return
                await asyncio.sleep(0.5)

    def _engines(self) -> Iterator[int]:
        group = self._process.pid if self._process else -1
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                of_ours = os.getpgid(int(folder.name)) == group
                if of_ours and b"EngineCore" in (folder / "cmdline").read_bytes():
                    yield int(folder.name)


def _without_ours(environment: "os._Environ[str]") -> dict[str, str]:
    """Return the environment without what points Python to the packages of this one."""
    return {name: value for name, value in environment.items() if not name.startswith("PYTHON")}


def _signal(processes: list[int], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
