"""Conversations: requests as data, and the answers in a form that two servers can be compared by.

A file of `conversations/` has a list of conversations, each with a namespace of its own:

    name: what the requests have in common
    rules: a Role's rules for the steps that are sent with `as: restricted`
    steps:
      - GET /api/v1/namespaces/{ns}/events
      - request: PATCH /api/v1/namespaces/{ns}/events/e
        body: {message: changed}  # or raw, as text
        type: merge               # of the body; the name of a constant of `api_client`, or as sent
        accept: table             # likewise
        headers: {If-None-Match: x}
        save: {version: metadata.resourceVersion}  # for {version} in later steps
        show: [metadata.labels]   # parts of the body that are compared; [] is nothing but the status
        until: 200                # repeat until this is the status
        real: true                # the sandbox does without it
      - expire: '{version}'       # let this version and all before it expire
      - watch: /api/v1/namespaces/{ns}/events?resourceVersion={version}
        take: 2                   # how many events are read; without it, all until the end

`recorded/` has, for each, what a real server answered. `python -m tests.api_behaviour.record` writes it.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.api_behaviour import api_client
from tests.api_behaviour.api_client import Answer, Api, unique
from tests.api_behaviour.masking import Masks
from tests.api_behaviour.servers import ServerUnderTest

HERE = Path(__file__).parent
_HEADERS = ("Content-Type", "Retry-After", "Warning")
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True)
class Conversation:
    """A few requests, one after another."""

    topic: str
    name: str
    steps: list[Any]
    rules: list[dict[str, Any]]

    def held_with(self, server: ServerUnderTest) -> list[int]:
        """The numbers of the steps that a server takes."""
        real = [isinstance(step, dict) and step.get("real", False) for step in self.steps]
        return [number for number in range(len(real)) if server.is_real or not real[number]]

    @property
    def recorded(self) -> Path:
        """Where the answers of a real server are."""
        return HERE / "recorded" / f"{self.topic}.yaml"

    def __str__(self) -> str:
        return f"{self.topic}: {self.name}"


def conversations() -> list[Conversation]:
    """All there are."""
    return [
        Conversation(path.stem, item["name"], item["steps"], item.get("rules", []))
        for path in sorted((HERE / "conversations").glob("*.yaml"))
        for item in yaml.safe_load(path.read_text())
    ]


async def hold(server: ServerUnderTest, conversation: Conversation) -> list[dict[str, Any]]:
    """Send the requests and return the answers."""
    namespace = unique("talk")
    await server.api.made("/api/v1/namespaces", {"metadata": {"name": namespace}})
    talk = _Talk(server, conversation, {"ns": namespace, "unique": unique("x").replace("-", "")})
    numbers = conversation.held_with(server)
    answers = [await talk.take(conversation.steps[number]) for number in numbers]
    await server.api.delete(f"/api/v1/namespaces/{namespace}")
    return answers


class _Talk:
    def __init__(
        self, server: ServerUnderTest, conversation: Conversation, known: dict[str, str]
    ) -> None:
        self._server = server
        self._conversation = conversation
        self._known = known
        self._masks = Masks({known["ns"]: "{ns}", known["unique"]: "{unique}"})

    async def take(self, written: Any) -> dict[str, Any]:
        """One step: what was asked, and what came back."""
        step = self._filled({"request": written} if isinstance(written, str) else written)
        asked = written if isinstance(written, str) else _asked(written)
        who = {"as": step["as"]} if "as" in step else {}
        async with self._api(step) as api:
            if "expire" in step:
                await self._server.expire(step["expire"])
                answer = {}
            elif "watch" in step:
                answer = {"events": [self._masks.body(e) async for e in _events(api, step)]}
            else:
                answer = self._shown(step, await _send(api, step))
        return self._masks.text({"asked": asked, **who, **answer})

    def _filled(self, step: Any) -> Any:
        """The step with the values of what is known so far."""
        if isinstance(step, dict):
            return {name: self._filled(value) for name, value in step.items()}
        if isinstance(step, list):
            return [self._filled(value) for value in step]
        if isinstance(step, str):
            for name, value in self._known.items():
                step = step.replace(f"{{{name}}}", value)
        return step

    def _api(self, step: dict[str, Any]) -> contextlib.AbstractAsyncContextManager[Api]:
        if step.get("as") == "restricted":
            return self._server.restricted(
                self._known["ns"], self._filled(self._conversation.rules)
            )
        return contextlib.nullcontext(self._server.api)

    def _shown(self, step: dict[str, Any], answer: Answer) -> dict[str, Any]:
        headers = {name: answer.headers[name] for name in _HEADERS if name in answer.headers}
        if "Retry-After" in headers:
            headers["Retry-After"] = "<seconds>"
        is_json = headers.get("Content-Type", "").startswith("application/json")
        body = json.loads(answer.text) if is_json else answer.text
        for name, path in step.get("save", {}).items():
            self._known[name] = _at(body, path)
        masked = self._masks.body(body)
        if "show" in step:
            masked = {path: _at(masked, path) for path in step["show"]}
        return {"status": answer.status, "headers": headers, "body": masked}


def _asked(step: dict[str, Any]) -> str:
    if "watch" in step:
        return f"WATCH {step['watch']}"
    return step.get("request", "nothing")


async def _send(api: Api, step: dict[str, Any]) -> Answer:
    method, path = step["request"].split(" ", 1)
    body = step.get("body")
    options = {
        "content_type": _media_type(step.get("type", "json")),
        "accept": _media_type(step.get("accept", "json")),
        "headers": step.get("headers"),
    }
    if "raw" in step:
        body = step["raw"].encode()
    async with asyncio.timeout(api_client.TIMEOUT_SECONDS):
        while True:
            answer = await api.request(method, path, body, **options)
            if answer.status == step.get("until", answer.status):
                return answer
            await asyncio.sleep(_PAUSE_SECONDS)


def _media_type(name: str) -> str:
    return getattr(api_client, name.upper().replace("-", "_"), name)


async def _events(api: Api, step: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    remaining = step.get("take")
    async with api.watch(step["watch"], accept=_media_type(step.get("accept", "json"))) as stream:
        while remaining != 0:
            event = await stream.next_or_end()
            if event is None:
                return
            yield event
            remaining = None if remaining is None else remaining - 1


def _at(value: Any, path: str) -> Any:
    """The value at a dotted path; `items[name=x]` finds the item of a list."""
    for part in path.split("."):
        if not isinstance(value, dict):
            return None
        field, _, wanted = part.partition("[")
        value = value.get(field)
        if wanted:
            key, _, name = wanted.rstrip("]").partition("=")
            value = next(_matching(value, key, name.replace("/", ".")), None)
    return value


def _matching(items: list[Any] | None, key: str, name: str) -> Iterator[Any]:
    return (item for item in items or [] if str(_nested(item, key)) == name)


def _nested(item: Any, key: str) -> Any:
    for part in key.split("/"):
        item = (item or {}).get(part)
    return item
