"""Both servers answer what a real server answered when it was recorded."""

import pytest
import yaml

from tests.api_behaviour.conversations import Conversation, conversations, hold
from tests.api_behaviour.servers import ServerUnderTest


# A server that compacts every 5 min lets a version expire in up to 10.
@pytest.mark.timeout(720)
@pytest.mark.parametrize("conversation", conversations(), ids=str)
async def test_conversation(server: ServerUnderTest, conversation: Conversation):
    """The answers are those of the record, but for what no two servers share."""
    recorded = yaml.safe_load(conversation.recorded.read_text())[conversation.name]
    answers = await hold(server, conversation)
    for number, answer in zip(conversation.held_with(server), answers, strict=True):
        assert answer == recorded[number], f"step {number}: {recorded[number]['asked']}"
