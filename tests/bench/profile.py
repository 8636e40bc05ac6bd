"""Where the daemon's processor time goes: callbacks of the event loop by kind, passes by part.

`make bench ARGS="--real --profile"` asks for it. To time each callback costs time itself, so that what is measured beside it is
a little more than without.
"""

import importlib
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Final, ParamSpec, TypeVar

ASKED: Final = "BENCH_PROFILE"
"""Name of a variable of the environment; set where a profile is wanted."""

_PARTS: Final = {
    "evaluate_again": "passes: probes of what changed, and all answers put together",
    "records_of": "passes: own Events read back",
    "look_for_foreign_writers": "passes: other writers of own Events",
    "resolve": "passes: resolution",
    "overlay": "passes: own writes laid over the Events",
    "plan_events": "passes: plan of the Events",
}
"""Functions that a pass calls one after another, and what each does."""

_PASS: Final = "passes: everything else"
_KINDS: Final = (
    ("_SelectorSocketTransport._read_ready", "loop: bytes from sockets: TLS and HTTP"),
    ("informer ", "loop: watches: objects decoded and kept"),
    ("passes", "loop: passes begun, their results published"),
    ("events", "loop: Events written"),
    ("_chain_future", "loop: passes begun, their results published"),
)
_OTHERS: Final = "loop: everything else"

P = ParamSpec("P")
R = TypeVar("R")

_spent: Counter[str] = Counter()
_inner = [0.0]


def is_asked() -> bool:
    """Return whether a profile is wanted."""
    return bool(os.environ.get(ASKED))


def time_passes() -> None:
    """Time the parts of each pass from now on."""
    one_pass = importlib.import_module("reporter.daemon.one_pass")
    passes = importlib.import_module("reporter.daemon.passes")
    for name, what in _PARTS.items():
        setattr(one_pass, name, _timed(getattr(one_pass, name), what))
    passes.run_pass = _timed(passes.run_pass, _PASS)


def callback(name: str, seconds: float) -> None:
    """Add what a callback of the loop spent."""
    kind = next((what for prefix, what in _KINDS if name.startswith(prefix)), _OTHERS)
    _spent[kind] += seconds


def take() -> dict[str, float]:
    """Return the processor seconds since this was asked last, by what they were spent on."""
    taken = dict(_spent)
    _spent.clear()
    return taken


def render(spent: Mapping[str, float]) -> str:
    """Return the table as text, the largest part first."""
    whole = sum(spent.values()) or 1.0
    lines = [
        f"  {seconds / whole:6.1%}  {what}"
        for what, seconds in sorted(spent.items(), key=lambda each: -each[1])
    ]
    return "\n".join(
        ["where the processor time of the daemon goes while many objects change", *lines]
    )


def _timed(function: Callable[P, R], what: str) -> Callable[P, R]:
    """Return the function, whose processor time is counted, without that of those that are counted inside."""

    @wraps(function)
    def timed(*args: P.args, **kwargs: P.kwargs) -> R:
        outer, _inner[0] = _inner[0], 0.0
        began = time.thread_time()
        try:
            return function(*args, **kwargs)
        finally:
            spent = time.thread_time() - began
            _spent[what] += spent - _inner[0]
            _inner[0] = outer + spent

    return timed
