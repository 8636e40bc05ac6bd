"""Ctrl-C ends a read-only program quietly at any moment, even while it is still being imported.

Python's own handler raises KeyboardInterrupt at any line: in an import, in a callback of the
garbage collector, or while threads are joined at exit, where no code can catch it and a traceback
is printed. A read-only program has nothing to clean up except files with credentials that the
Kubernetes library may have made. It removes them and dies of the signal, as a shell expects.
"""

import atexit
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def end_quietly() -> None:
    """Let Ctrl-C end the process silently from now on.

    If interrupts are ignored, as in a background job of a shell, they stay ignored.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


@contextmanager
def own_interrupts() -> Iterator[None]:
    """Restore Python's handler around code that has something to clean up.

    Ctrl-C then raises KeyboardInterrupt, unless an event loop handles the signal.
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
