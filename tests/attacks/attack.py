"""Attacks: what a tenant, a stranger's dump or a client of the listeners may try, each with its outcome and a figure.

An attack is a function of a folder that it may fill; it returns `held` or `broken` with a figure for
people. It stands in a module of this package, which is its group: `python -m tests.attacks` finds it,
and so does the test. A quick one takes a second or two; the others run with `make attacks` alone.
"""

import importlib
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import tests.attacks

RowT = TypeVar("RowT")
ROOT: Final = Path(__file__).parents[2]
_MEASURED: Final = r"""
import atexit, re, resource, sys
peak, seconds = sys.argv.pop(1), int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
most = lambda: re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]
atexit.register(lambda: open(peak, "w").write(most()))
sys.argv[0] = "status-reporter"
from reporter.entry import main
sys.exit(main())
"""
"""The program, which leaves its most KiB of memory in a file; what `wait4` says of it includes the caller's."""


@dataclass(frozen=True)
class Outcome:
    held: bool
    figure: str

    @property
    def word(self) -> str:
        return "HELD" if self.held else "BROKEN"


def held(figure: str) -> Outcome:
    return Outcome(held=True, figure=figure)


def broken(figure: str) -> Outcome:
    return Outcome(held=False, figure=figure)


@dataclass(frozen=True)
class Attack:
    """An attack; `quick` ones are a part of the tests."""

    group: str
    name: str
    carry_out: Callable[[Path], Outcome]
    quick: bool = True

    def __str__(self) -> str:
        return f"{self.group}: {self.name}"

    def outcome(self) -> Outcome:
        """Carry it out in a folder of its own; what it does not expect is a breach, too."""
        with tempfile.TemporaryDirectory(prefix="attack") as folder:
            try:
                return self.carry_out(Path(folder))
            except Exception as error:  # noqa: BLE001  # whatever comes out of it
                return broken(f"{type(error).__name__}: {str(error)[:300]}")


_ATTACKS: Final[list[Attack]] = []


def attack(name: str, *, quick: bool = True) -> Callable[[Callable[[Path], Outcome]], None]:
    """Register a function of a folder as an attack."""

    def register(function: Callable[[Path], Outcome]) -> None:
        _ATTACKS.append(Attack(_group_of(function), name, function, quick))

    return register


def attacks(
    rows: Mapping[str, RowT], *, quick: bool = True
) -> Callable[[Callable[[Path, RowT], Outcome]], None]:
    """Register an attack for each row of a table by its name; the function takes folder and row."""

    def register(function: Callable[[Path, RowT], Outcome]) -> None:
        for name, row in rows.items():
            carry_out = partial(_with_row, function, row)
            _ATTACKS.append(Attack(_group_of(function), name, carry_out, quick))

    return register


def _with_row(function: Callable[[Path, RowT], Outcome], row: RowT, folder: Path) -> Outcome:
    return function(folder, row)


def _group_of(function: Callable[..., Outcome]) -> str:
    return function.__module__.rpartition(".")[2].replace("_", " ")


def all_attacks() -> list[Attack]:
    """Return the attacks of all modules of this package."""
    for module in pkgutil.iter_modules(tests.attacks.__path__):
        if not module.name.startswith(("__", "test_", "attack")):
            importlib.import_module(f"tests.attacks.{module.name}")
    return list(_ATTACKS)


class TookTooLongError(Exception):
    """More processor time was used than an attack may cost."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """End what takes more processor time; Python's `re` looks for signals, too."""

    def stop(*_: object) -> None:
        raise TookTooLongError(f"more than {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def growth(work: Callable[[int], Callable[[], object]], size: int, *, most: float = 10) -> Outcome:
    """Tell whether a work takes linear time: of eight times the size at most 24 times as long.

    Linear time grows eightfold and the square's 64-fold, so that a busy machine makes no difference.

    Args:
        work: makes what is measured, for a size; to make it is not measured.
        size: the smaller of both sizes.
        most: seconds of processor time that one run may take.

    """
    few, many = (_quickest(work(each), most) for each in (size, 8 * size))
    figure = f"{size} to {8 * size}: {few * 1e3:.1f} to {many * 1e3:.1f} ms"
    return Outcome(held=many < 0.05 or many < 24 * max(few, 0.001), figure=figure)


def _quickest(work: Callable[[], object], most: float) -> float:
    took = []
    for _ in range(3):
        before = time.process_time()
        with at_most(most):
            work()
        took.append(time.process_time() - before)
        if took[-1] > 1:
            break
    return min(took)


@dataclass(frozen=True)
class Ran:
    """What came of a run of the program: seconds of processor time, and most memory in MiB."""

    status: int
    out: str
    err: str
    seconds: float
    mebibytes: float

    @property
    def failed(self) -> bool:
        """It ended in a way that no user should see: killed, or with a fault of its own."""
        own = ("Traceback", "Please report this line")
        return self.status < 0 or any(each in self.err for each in own)


def program(
    *arguments: str | Path,
    seconds: int = 20,
    text: str = "",
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Ran:
    """Run the program; what takes longer on a processor is killed, and what waits four times as long."""

    with tempfile.TemporaryDirectory(prefix="ran") as name:
        streams = {each: Path(name, each) for each in ("in", "out", "err", "peak")}
        streams["in"].write_text(text)
        command = [sys.executable, "-c", _MEASURED, streams["peak"], seconds, *arguments]
        with (
            streams["in"].open() as into,
            streams["out"].open("w") as out,
            streams["err"].open("w") as err,
        ):
            child = subprocess.Popen(
                [*map(str, command)],
                stdin=into,
                stdout=out,
                stderr=err,
                env=env,
                cwd=folder or name,
            )
            waits = threading.Timer(4 * seconds, child.kill)
            waits.start()
            _, status, used = os.wait4(child.pid, 0)
            waits.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
        peak = int(streams["peak"].read_text()) if streams["peak"].exists() else used.ru_maxrss
        return Ran(
            child.returncode,
            *(streams[each].read_text(errors="replace") for each in ("out", "err")),
            seconds=used.ru_utime + used.ru_stime,
            mebibytes=peak / 1024,
        )
