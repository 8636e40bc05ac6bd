"""`python -m tests.verdicts --against COMMIT`: what this tree says otherwise than that commit.

Every dump, example, scenario and cluster of this tree is evaluated twice: with the code here, and with
the code of the commit, which is checked out to a temporary folder. What differs in causes, subjects,
dispositions, states, impact, messages and planned Events is printed; there are no golden files. Whoever
moves code reads that list: an empty one means that nobody will see the move, and each line of another
one is to be truer than before.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parents[2]
COLLECT = Path(__file__).with_name("collect.py")

Verdicts: TypeAlias = dict[str, dict[str, str]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what differs; 1 where anything does."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.verdicts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--against", default="HEAD", metavar="COMMIT", help="default: HEAD")
    parser.add_argument("--only", default="", metavar="TEXT", help="inputs whose name contains it")
    parser.add_argument(
        "--brief", action="store_true", help="count the differences of each input, print none"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        before_tree = Path(folder) / "before"
        _git("worktree", "add", "--detach", "--quiet", str(before_tree), options.against)
        try:
            before = _start(before_tree, Path(folder) / "before.json", options.only)
            after = _start(ROOT, Path(folder) / "after.json", options.only)
            old, new = _result(*before), _result(*after)
        finally:
            _git("worktree", "remove", "--force", str(before_tree))
    lines = list(_told(old, new, brief=options.brief))
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if lines[:-1] else 0


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True)


def _start(tree: Path, out: Path, only: str) -> tuple[subprocess.Popen[bytes], Path]:
    """Start the judging of this tree's inputs with a tree's code."""
    command = [sys.executable, str(COLLECT), str(tree), str(ROOT), str(out), only]
    return subprocess.Popen(command, cwd=tree), out


def _result(process: subprocess.Popen[bytes], out: Path) -> Verdicts:
    if process.wait():
        raise SystemExit(f"{process.args!r} ended with {process.returncode}")
    verdicts: Verdicts = json.loads(out.read_text())
    return verdicts


def _told(old: Verdicts, new: Verdicts, *, brief: bool) -> Iterator[str]:
    """Yield what differs, input by input, and how much that is at the end."""
    kinds: Counter[str] = Counter()
    changed = 0
    for name, after in new.items():
        differences = list(_differences(old.get(name, {}), after))
        if not differences:
            continue
        changed += 1
        kinds.update(_kind(key) for key, _, _ in differences)
        yield f"{name}: {len(differences)} differ" if brief else f"== {name}"
        if brief:
            continue
        for key, was, now in differences:
            yield f"  {key}"
            yield from (f"    - {was}" for _ in [was] if was is not None)
            yield from (f"    + {now}" for _ in [now] if now is not None)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    yield f"{len(new)} inputs, {changed} differ" + (f": {counts}" if counts else "")


def _differences(
    old: Mapping[str, str], new: Mapping[str, str]
) -> Iterator[tuple[str, str | None, str | None]]:
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            yield key, old.get(key), new.get(key)


def _kind(key: str) -> str:
    words = key.split(" ")
    return words[2] if words[0] == "step" else words[0]


if __name__ == "__main__":
    raise SystemExit(main())
