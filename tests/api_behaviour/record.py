"""`python -m tests.api_behaviour.record`: write what the server under test answers.

For a real server of the pinned release:

    python -m e2e.envtest --run python -m tests.api_behaviour.record
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.api_behaviour.conversations import conversations, hold
from tests.api_behaviour.servers import server_under_test


async def record() -> None:
    """Hold all conversations and write the answers."""
    answers: dict[Path, dict[str, Any]] = {}
    async with server_under_test() as server:
        for conversation in conversations():
            found = await hold(server, conversation)
            answers.setdefault(conversation.recorded, {})[conversation.name] = found
    for path, content in answers.items():
        path.write_text(yaml.safe_dump(content, sort_keys=True, width=100, allow_unicode=True))


if __name__ == "__main__":
    if not os.environ.get("STATUS_REPORTER_API_URL"):
        sys.exit("STATUS_REPORTER_API_URL names no server: the sandbox is held to a real one")
    asyncio.run(record())
