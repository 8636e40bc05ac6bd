"""Clients of the engine: they ask over HTTP, read the stream, think, and ask again."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from tests.engine import tiny_model


@dataclass(frozen=True, slots=True)
class Load:
    """How much is asked.

    Attributes:
        clients: that ask at once.
        prompt: tokens of a prompt.
        answer: tokens of an answer.
        think: seconds between two requests of a client, on average.
        leaves_after: tokens after which a client goes away; None stays.

    """

    clients: int = 0
    prompt: int = 30
    answer: int = 200
    think: float = 0.0
    leaves_after: int | None = None


class Clients:
    """Many clients, and what became of their requests."""

    def __init__(self, url: str, seed: int = 17) -> None:
        self._url = f"{url}/v1/completions"
        self._random = random.Random(seed)
        self.outcomes: Counter[str] = Counter()

    @asynccontextmanager
    async def asking(self, load: Load) -> AsyncIterator[None]:
        """Ask while entered; whoever still waits then goes away."""
        connector = aiohttp.TCPConnector(limit=0)
        timeout = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            tasks = [asyncio.create_task(self._client(session, load)) for _ in range(load.clients)]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _client(self, session: aiohttp.ClientSession, load: Load) -> None:
        while True:
            await asyncio.sleep(self._random.uniform(0, 2 * load.think))
            try:
                self.outcomes[await self._ask(session, load)] += 1
            except aiohttp.ClientError as error:
                self.outcomes[type(error).__name__] += 1
                await asyncio.sleep(0.2)

    async def _ask(self, session: aiohttp.ClientSession, load: Load) -> str:
        prompt = "".join(self._random.choices("abcdefghij ", k=load.prompt))
        body = {
            "model": tiny_model.NAME,
            "prompt": prompt,
            "max_tokens": load.answer,
            "ignore_eos": True,
            "stream": True,
        }
        async with session.post(self._url, json=body) as answer:
            if answer.status != 200:
                await asyncio.sleep(0.2)
                return str(answer.status)
            read = 0
            async for line in answer.content:
                read += line.startswith(b"data:")
                if load.leaves_after is not None and read >= load.leaves_after:
                    return "left"
        return "answered"
