"""Inflict faults on a control plane and print the table of outcomes; fail if one does not hold.

`python -m e2e.chaos [NAME...] [--short] [--list] [--logs FOLDER]`
"""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from e2e.chaos.bounds import FULL, SHORT
from e2e.chaos.cluster import foundation
from e2e.chaos.experiment import Outcome, conduct, table
from e2e.chaos.faults import BY_NAME, FAULTS, SHORT_FAULTS, Fault
from e2e.envtest.commands import EnvtestError
from e2e.stack.api import StackError


def main() -> int:
    """Run the named faults, or all of them."""
    asked = _arguments()
    if asked.list:
        for fault in FAULTS:
            print(f"{fault.name:24} {fault.text}")
        return 0
    # Ended like this, too, everything that was started has to end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    form, all_ = (SHORT, SHORT_FAULTS) if asked.short else (FULL, FAULTS)
    outcomes: list[Outcome] = []
    failed = False
    with foundation(asked.logs) as base:
        for fault in [BY_NAME[name] for name in asked.names] or all_:
            try:
                outcome = asyncio.run(conduct(fault, base, form))
            except (StackError, EnvtestError, AssertionError) as error:
                failed = True
                _say(fault, f"could not be done: {error}")
            else:
                failed |= bool(outcome.problems)
                outcomes.append(outcome)
                _say(fault, "; ".join(outcome.problems) or "as promised")
    print(table(outcomes, form))
    return int(failed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m e2e.chaos", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults; all if none is named")
    parser.add_argument("--short", action="store_true", help="quick settings, short faults")
    parser.add_argument("--list", action="store_true", help="list the faults")
    parser.add_argument("--logs", type=Path, help="folder for the logs of servers and replicas")
    asked = parser.parse_args()
    unknown = set(asked.names) - BY_NAME.keys()
    if unknown:
        parser.error(f"no such fault: {', '.join(sorted(unknown))}; see --list")
    return asked


def _say(fault: Fault, text: str) -> None:
    print(f"chaos: {fault.name}: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
