"""Ctrl-C ends a program that only looks quietly at any moment, also while it is still being
imported.

Python's own handler raises KeyboardInterrupt at whatever line runs: in an import, in a callback of
the garbage collector, or while threads are joined at the end, where nobody can catch it and a
traceback is printed. What only looks has nothing to put in order. It dies of the signal, as a shell
expects, once the files with credentials are removed that the Kubernetes library may have made.
"""

import atexit
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def end_quietly() -> None:
    """Let Ctrl-C end the process without a word from now on.

    Whoever runs us in the background may have interrupts ignored; that stays.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


@contextmanager
def own_interrupts() -> Iterator[None]:
    """Leave Ctrl-C to what runs meanwhile and has something to put in order.

    It raises KeyboardInterrupt, unless an event loop handles the signal.
    """
    ours = signal.getsignal(signal.SIGINT) is _end
    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    atexit._run_exitfuncs()  # noqa: SLF001 - no public way runs them and dies of a signal
    os.kill(os.getpid(), number)
