"""`make attacks`: carries out all attacks, or those whose group or name holds a word, and says what came of each."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from tests.attacks.attack import all_attacks


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry them out; 1 if one was not held."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("words", nargs="*", help="parts of groups or names; all by default")
    parser.add_argument("--quick", action="store_true", help="those alone that are tests, too")
    options = parser.parse_args(arguments)
    counts = Counter[bool]()
    for each in all_attacks():
        is_named = not options.words or any(word in str(each) for word in options.words)
        if is_named and (each.quick or not options.quick):
            outcome = each.outcome()
            counts[outcome.held] += 1
            sys.stdout.write(f"{outcome.word:6}  {each}: {outcome.figure}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{counts.total()} attacks, {counts[True]} held, {counts[False]} broken\n")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
