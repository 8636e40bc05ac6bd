"""What holds for every test."""

import asyncio

import hypothesis
import pytest
import structlog

# Python 3.11 makes an event loop for whoever asks for one before any was set, and nobody closes
# it: its warning would hit whichever test runs when it is collected.
asyncio.set_event_loop(None)

# A slow machine is no fault of an example.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def _logging_as_imported():
    """A command that ran in the process leaves no log that writes to its closed streams."""
    yield
    structlog.reset_defaults()
