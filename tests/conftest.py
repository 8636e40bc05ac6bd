"""What holds for every test."""

import asyncio

# Python 3.11 makes an event loop for whoever asks for one before any was set, and nobody closes
# it: its warning would hit whichever test runs when it is collected.
asyncio.set_event_loop(None)
