"""`python -m tests.incidents [--write] [ID...]`: the score, and what is told of each incident.

With `--write` the flags and the page of the docs are written as well.
"""

import sys

from tests.incidents.page import write_page
from tests.incidents.score import cases, is_plain, named_in_a_model, score, told_of, write_flags


def _say(line) -> None:
    sys.stdout.write(f"{line}\n")


def main(arguments) -> None:
    """Print the incidents that are asked for, or all, and the score of all."""
    wanted = [each for each in arguments if not each.startswith("--")]
    for case in cases():
        if wanted and case["id"] not in wanted:
            continue
        told = told_of(case)
        _say(f"{told.outcome:8} {case['source']} {case['id']} ({case['class']}, {case['shows']})")
        if told.outcome != "named":
            _say(f"         must be told: {', '.join(map(str, case['told']))}")
        for reason, message, action in told.causes:
            _say(f"         {reason}: {message}{f' -> {action}' if action else ''}")
    if wanted:
        return
    _say("\nmodels of a known kind: " + score([each for each in cases() if not is_plain(each)]))
    _say("\nplain workloads: " + score([each for each in cases() if is_plain(each)]))
    named, count = named_in_a_model()
    _say(f"\ntheir pods in an InferenceService: {named} of {count} named")
    if "--write" in arguments:
        write_flags()
        write_page()


main(sys.argv[1:])
