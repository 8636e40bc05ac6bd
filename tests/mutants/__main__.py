"""`make mutants`: change the resolution in one place at a time, and see that a test notices.

A mutant that no test notices is a place where the tests would let a fault through, or a change
that makes no difference. The latter are listed in explained/, a file for each module, with the reason.
"""

import argparse
import ast
import math
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.mutants.killing import Killing, Outcome
from tests.mutants.mutations import Mutant, mutants_of

_ROOT: Final = Path(__file__).parents[2]
_CODE: Final = _ROOT / "reporter" / "resolution"
_EXPLAINED: Final = Path(__file__).parent / "explained"
_TESTS: Final = (
    "tests/unit/resolution", "tests/scenarios", "tests/properties/test_resolution.py",
    "tests/properties/test_mutes.py", "tests/properties/test_events.py",
    "tests/properties/test_records.py",
)  # fmt: skip
_OPTIONS: Final = (
    "--quiet", "--capture=sys", "--override-ini=timeout=120",
    "-p", "no:randomly", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:cov",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the mutants; 1 where one survives that is not explained, or is explained and dies."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", help="of reporter/resolution, by name; all of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--budget",
        type=float,
        default=math.inf,
        help="seconds of tests on each mutant; with few, some that are not noticed would be",
    )
    parser.add_argument("--only", default="", help="mutants whose name contains this")
    parser.add_argument(
        "--tests",
        nargs="+",
        default=_TESTS,
        metavar="PATH",
        help="try these tests alone, in seconds",
    )
    parser.add_argument("--list", action="store_true", help="name the mutants, run nothing")
    options = parser.parse_args(arguments)
    trees, mutants = _mutants(options.modules)
    mutants = [each for each in mutants if options.only in each.name]
    if options.list:
        sys.stdout.writelines(f"{each.name}\n" for each in mutants)
        return 0
    os.environ["PROPERTY_PROFILE"] = "mutants"
    os.chdir(_ROOT)
    began = time.monotonic()
    killing = Killing(trees, mutants, jobs=options.jobs, budget=options.budget, say=_say)
    pytest.main([*_OPTIONS, *options.tests], plugins=[killing])
    sys.stdout.write(f"\n{time.monotonic() - began:.0f} s\n")
    return _report(killing.outcome, mutants)


def _mutants(names: Sequence[str]) -> tuple[dict[Path, ast.Module], list[Mutant]]:
    paths = [_CODE / f"{each}.py" for each in names] or sorted(_CODE.glob("*.py"))
    trees = {path: ast.parse(path.read_text()) for path in paths}
    return trees, [mutant for path, tree in trees.items() for mutant in mutants_of(path, tree)]


def _say(text: str) -> None:
    sys.__stderr__.write(f"{text}\n")
    sys.__stderr__.flush()


def _report(outcome: Outcome, mutants: Sequence[Mutant]) -> int:
    reasons: dict[str, str] = {
        name: each["why"]
        for path in sorted(_EXPLAINED.glob("*.yaml"))
        for each in yaml.safe_load(path.read_text())
        for name in each["mutants"]
    }
    left = {each.name for each in (*outcome.survived, *outcome.unreached)}
    noticed = {each.name for each, _ in outcome.killed}
    unexplained = sorted(left - reasons.keys())
    needless = sorted(noticed & reasons.keys())
    unknown = sorted(reasons.keys() - {each.name for each in _mutants(())[1]})
    sys.stdout.write(
        f"{len(mutants)} mutants: {len(noticed)} noticed, "
        f"{len(left & reasons.keys())} explained, {len(unexplained)} not noticed\n"
    )
    for title, names in (
        ("no test notices", unexplained),
        ("explained, and noticed all the same", needless),
        ("explained, and no mutant of this code", unknown),
    ):
        sys.stdout.writelines(f"{title}: {name}\n" for name in names)
    run = len(outcome.killed) + len(outcome.survived) + len(outcome.unreached)
    return int(run < len(mutants) or bool(unexplained or needless or unknown))


if __name__ == "__main__":
    sys.exit(main())
