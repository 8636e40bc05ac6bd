"""Runs the tests against each mutant, in a fork of one process that has collected them once.

A fork puts the code of the mutant in the place of the function's own and runs the tests that reach
the changed statement until one fails, those that reach most of its module first. So a mutant costs
little more than the tests that it takes to notice it.
"""

import ast
import gc
import os
import random
import select
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import coverage
import pytest

from tests.mutants.mutations import Mutant

LONGEST_SECONDS = 900.0
"""A mutant that takes longer is noticed: it does not come to an end."""

_FIRST = 15
"""How many cases of a parametrized test are tried before other tests are."""

_CASES = 60
"""How many cases of a parametrized test are run at most, chosen at random and always the same."""

_SURVIVED, _KILLED, _BROKEN = 0, 1, 2


@dataclass
class Reached:
    """Which tests reach which line, and how many seconds each takes of the processor.

    Attributes:
        tests: by path and line.
        lines: how many lines of a module each test reaches, by path and test.
        seconds: by test.

    """

    tests: Mapping[tuple[str, int], frozenset[int]]
    lines: Counter[tuple[str, int]]
    seconds: Mapping[int, float]


@dataclass
class Outcome:
    """What became of the mutants: those that no test noticed, and by what the others were."""

    survived: list[Mutant] = field(default_factory=list)
    killed: list[tuple[Mutant, str]] = field(default_factory=list)
    unreached: list[Mutant] = field(default_factory=list)


class Killing:
    """A pytest plugin that runs mutants where pytest would run its tests."""

    def __init__(
        self,
        trees: Mapping[Path, ast.Module],
        mutants: Iterable[Mutant],
        *,
        jobs: int,
        budget: float,
        say: Callable[[str], None],
    ) -> None:
        self.trees, self.mutants, self.jobs, self.say = trees, list(mutants), jobs, say
        self.budget = budget
        self.outcome = Outcome()
        self._killers: dict[str, Counter[int]] = defaultdict(Counter)
        self._failed = False
        self._seconds: dict[int, float] = {}
        self._items: list[pytest.Item] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notice a failure, in a fork."""
        self._failed = self._failed or report.failed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the mutants."""
        self._items = list(_thinned(session.items))
        gc.collect()
        gc.freeze()
        began = time.monotonic()
        reached = self._reach()
        took = time.monotonic() - began
        self.say(f"{len(self._items)} tests pass in {took:.0f} s, {len(self.mutants)} mutants")
        queue = []
        for mutant in self.mutants:
            order = self._order(mutant, reached)
            if order:
                queue.append((mutant, order))
            else:
                self.outcome.unreached.append(mutant)
        self._run(queue)
        return True

    def _reach(self) -> Reached:
        """Run all tests as they are, in a fork, so that this process stays as it was."""
        into, out_of = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(into)
            _quiet()
            try:
                with os.fdopen(out_of, "w") as pipe:
                    self._trace(pipe)
            finally:
                os._exit(0)
        os.close(out_of)
        with os.fdopen(into) as pipe:
            lines = pipe.read().splitlines()
        os.waitpid(pid, 0)
        tests: dict[tuple[str, int], set[int]] = defaultdict(set)
        seconds: dict[int, float] = {}
        for line in lines:
            path, number, *values = line.split("\t")
            if path == "failed":
                raise RuntimeError(f"fails as it is: {self._items[int(number)].nodeid}")
            if path == "":
                seconds[int(number)] = float(values[0])
            else:
                tests[path, int(number)].update(map(int, values[0].split()))
        lines = Counter((path, test) for (path, _), found in tests.items() for test in found)
        return Reached({key: frozenset(value) for key, value in tests.items()}, lines, seconds)

    def _trace(self, pipe) -> None:
        traced = coverage.Coverage(
            data_file=None, include=[str(path) for path in self.trees], config_file=False
        )
        traced.start()
        for index, item in enumerate(self._items):
            traced.switch_context(str(index))
            began = time.process_time()
            self._run_item(item, self._items[index + 1 : index + 2])
            if self._failed:
                pipe.write(f"failed\t{index}\t\n")
                return
            pipe.write(f"\t{index}\t{time.process_time() - began}\n")
        traced.stop()
        data = traced.get_data()
        for path in self.trees:
            for line, contexts in data.contexts_by_lineno(str(path)).items():
                pipe.write(f"{path}\t{line}\t{' '.join(each for each in contexts if each)}\n")

    def _run_item(self, item: pytest.Item, following: list[pytest.Item]) -> None:
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following[0] if following else None)

    def _order(self, mutant: Mutant, reached: Reached) -> list[int]:
        """Return the tests that reach a mutant: those of its module first, few cases of each at first."""
        if mutant.constant:
            every = reached.tests.items()
            found = {
                test for (path, _), tests in every if path == str(mutant.path) for test in tests
            }
        else:
            lines = ((str(mutant.path), line) for line in mutant.lines)
            found = set().union(*(reached.tests.get(line, ()) for line in lines))
        cases: Counter[str] = Counter()
        ranks: dict[int, tuple[int, int, float]] = {}
        for test in sorted(found):
            function = self._items[test].nodeid.partition("[")[0]
            cases[function] += 1
            if "/unit/" in function:
                rank = 0 if cases[function] <= _FIRST else 1
            else:
                # The first is slow, and most mutants do not get past it.
                rank = 2 if "the_rules_are_kept" in function else 3
            # What reaches most of a module is a test of that module.
            ranks[test] = (rank, -reached.lines[str(mutant.path), test], reached.seconds[test])
        order = sorted(ranks, key=ranks.__getitem__)
        spent = accumulate((reached.seconds[test] for test in order), initial=0.0)
        return [test for test, before in zip(order, spent, strict=False) if before < self.budget]

    def _run(self, queue: list[tuple[Mutant, list[int]]]) -> None:
        running: dict[int, tuple[int, Mutant, float]] = {}
        done = 0
        queue.reverse()
        while queue or running:
            while queue and len(running) < self.jobs:
                mutant, order = queue.pop()
                killers = self._killers[f"{mutant.path.stem}.{mutant.scope}"]
                reach = set(order)
                first = [test for test, _ in killers.most_common(10) if test in reach]
                pid, pipe = self._fork(
                    mutant, [*first, *(each for each in order if each not in first)]
                )
                running[pipe] = (pid, mutant, time.monotonic())
            ready, _, _ = select.select(list(running), [], [], 1.0)
            for pipe, (pid, _, began) in running.items():
                if time.monotonic() - began > LONGEST_SECONDS:
                    os.kill(pid, signal.SIGKILL)
                    ready = [*ready, pipe]
            for pipe in dict.fromkeys(ready):
                pid, mutant, _ = running.pop(pipe)
                self._note(pid, pipe, mutant)
                done += 1
                if done % 50 == 0:
                    self.say(f"{done} done, {len(self.outcome.survived)} not noticed")

    def _note(self, pid: int, pipe: int, mutant: Mutant) -> None:
        with os.fdopen(pipe, "rb") as stream:
            told = stream.read().decode()
        _, status = os.waitpid(pid, 0)
        if os.waitstatus_to_exitcode(status) == _BROKEN:
            raise RuntimeError(f"cannot be put in place: {mutant.name}")
        if status == 0:
            self.outcome.survived.append(mutant)
            self.say(f"not noticed: {mutant.name}")
            return
        by = "it did not come to an end"
        if told:
            self._killers[f"{mutant.path.stem}.{mutant.scope}"][int(told)] += 1
            by = self._items[int(told)].nodeid
        self.outcome.killed.append((mutant, by))

    def _fork(self, mutant: Mutant, order: list[int]) -> tuple[int, int]:
        into, out_of = os.pipe()
        pid = os.fork()
        if pid:
            os.close(out_of)
            return pid, into
        os.close(into)
        code = _BROKEN
        try:
            _quiet()
            put_in_place(mutant, self.trees[mutant.path])
            code = self._try(order, out_of)
        finally:
            os._exit(code)

    def _try(self, order: list[int], pipe: int) -> int:
        """Run the tests against a mutant, in a fork."""
        for place, test in enumerate(order):
            following = [self._items[each] for each in order[place + 1 : place + 2]]
            try:
                self._run_item(self._items[test], following)
            except BaseException:  # noqa: BLE001 - pytest itself stumbles over some mutants
                self._failed = True
            if self._failed:
                os.write(pipe, str(test).encode())
                return _KILLED
        return _SURVIVED


def _thinned(items: Iterable[pytest.Item]) -> Iterable[pytest.Item]:
    """Yield the tests with so few cases of each that a mutant nobody notices is done soon."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[item.nodeid.partition("[")[0]].append(item)
    for name, found in cases.items():
        most = len(found) if "scenarios" in name else _CASES
        chosen = random.Random(name).sample(range(len(found)), min(most, len(found)))
        yield from (found[index] for index in sorted(chosen))


def _quiet() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno() if sys.stdout.fileno() == 1 else 1)
    os.dup2(nowhere, 2)


def put_in_place(mutant: Mutant, tree: ast.Module) -> None:
    """Change what this process runs."""
    mutant.put()
    code = compile(tree, str(mutant.path), "exec")
    if mutant.constant:
        _put_constant(mutant, code)
    else:
        _function(mutant).__code__ = _code_of(mutant.scope, code)


def _code_of(scope: str, code: CodeType) -> CodeType:
    (found,) = (each for each in _all_code(code) if each.co_qualname == scope)
    return found


def _all_code(code: CodeType) -> Iterable[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _all_code(each)


def _function(mutant: Mutant) -> FunctionType:
    found: object = _module(mutant)
    for name in mutant.scope.split("."):
        found = vars(found)[name]
    for wrapped in ("fget", "func", "__wrapped__", "__wrapped__"):
        # What the code as it is has answered would be answered again.
        getattr(found, "cache_clear", _nothing)()
        found = getattr(found, wrapped, found)
    if not isinstance(found, FunctionType):
        raise TypeError(f"{mutant.scope} is no function but {found}")
    return found


def _nothing() -> None:
    """Clear no cache where there is none."""


def _module(mutant: Mutant) -> ModuleType:
    (module,) = (
        each
        for each in list(sys.modules.values())
        if getattr(each, "__file__", None) == str(mutant.path)
    )
    return module


def _put_constant(mutant: Mutant, code: CodeType) -> None:
    """Compute the constants of a module once more, and hand the one out to whoever has it."""
    module = _module(mutant)
    old = vars(module)[mutant.scope]
    computed = dict(vars(module))
    exec(code, computed)
    new = computed[mutant.scope]
    for each in list(sys.modules.values()):
        if getattr(each, "__name__", "").startswith(("reporter.", "tests.")):
            for name, value in list(vars(each).items()):
                if name == mutant.scope and value is old:
                    setattr(each, name, new)
