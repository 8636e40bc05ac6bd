"""The flags of every command that shows a report: `check`, `status` and the kubectl plugin.

One table, so that a flag means the same everywhere. What a command cannot do with one of them, it
says, with what to write instead.
"""

import argparse
import sys
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from reporter.arguments import PROGRAM, USAGE_STATUS, Parser
from reporter.errors import UsageError
from reporter.model.report import Report
from reporter.sinks.words import (
    is_blind,
    is_cause,
    is_notice,
    models_without_verdict,
    why_without_verdict,
)

OUTPUTS: Final = ("text", "wide", "json", "yaml", "events", "html", "junit", "prometheus")
"""How a report can be printed; `rendering` does it."""

NOTHING_FIRES: Final = 0
SOMETHING_FIRES: Final = 1


class FailOn(StrEnum):
    """What makes the exit status 1."""

    CAUSE = "cause"
    NOTICE = "notice"
    UNKNOWN = "unknown"
    NONE = "none"


_FORMER: Final = {"warning": FailOn.CAUSE}
"""Values of `--fail-on` that the plugin had before."""


@dataclass(frozen=True, slots=True)
class Option:
    """One flag.

    Attributes:
        names: short and long.
        meaning: for the help.
        more: what argparse needs besides.

    """

    names: tuple[str, ...]
    meaning: str
    more: dict[str, object] = field(default_factory=dict)


OPTIONS: Final = (
    Option(
        ("-n", "--namespace"),
        "only this namespace: check needs rights there only, status shows the cluster layer too",
        {"metavar": "NAME"},
    ),
    Option(("-A", "--all-namespaces"), "all namespaces, as without -n", {"action": "store_true"}),
    Option(
        ("-o", "--output"),
        f"{', '.join(OUTPUTS)} (text)",
        {"choices": OUTPUTS, "default": "text", "metavar": "FORMAT"},
    ),
    Option(("-w", "--watch"), "again on every change, until Ctrl-C", {"action": "store_true"}),
    Option(
        ("--fail-on",),
        "what makes the exit status 1: a cause that fires, a notice too, a cause or what "
        "cannot be read, or nothing; several with commas (cause)",
        {"metavar": "cause|notice|unknown|none", "default": "cause"},
    ),
    Option(
        ("--allow-unknown",),
        "exit with 0, not 2, where nothing fires and a model has no verdict because something "
        "could not be read",
        {"action": "store_true"},
    ),
    Option(
        ("-f", "--from"),
        "look at a dump instead of a cluster: a file, a folder, an archive (.tgz, .tar, .zip, .gz), "
        "a must-gather, a support bundle, or - for standard input; may be repeated",
        {"dest": "sources", "metavar": "PATH", "action": "append", "default": []},
    ),
)
"""In the order of the help."""


def add_options(parser: Parser, *, dump: bool = True) -> None:
    """Add the flags that commands share; without `dump`, `--from` is understood only to be refused."""
    for option in OPTIONS:
        meaning = option.meaning if dump or "--from" not in option.names else argparse.SUPPRESS
        parser.add_argument(*option.names, help=meaning, **option.more)  # type: ignore[arg-type]


def require_sense(arguments: argparse.Namespace) -> None:
    """Refuse flags that contradict each other.

    Raises:
        UsageError: two of them do.

    """
    if arguments.all_namespaces and arguments.namespace:
        raise UsageError("-A and -n contradict each other; leave one out")
    if arguments.watch and arguments.output in _ONE_DOCUMENT:
        raise UsageError(f"-o {arguments.output} is one document; leave out --watch")
    fail_on(arguments.fail_on)


_ONE_DOCUMENT: Final = frozenset({"html", "junit", "prometheus"})


def fail_on(text: str) -> frozenset[FailOn]:
    """Return what makes the exit status 1.

    Raises:
        UsageError: it is none of what is allowed.

    """
    found = {_FORMER.get(word) or word for word in text.split(",")}
    if not found <= {*FailOn} or (FailOn.NONE in found and len(found) > 1):
        allowed = ", ".join(FailOn)
        raise UsageError(f"--fail-on: {text!r} is not allowed; allowed: one or more of {allowed}")
    return frozenset(map(FailOn, found))


def exit_status_of(report: Report, arguments: argparse.Namespace) -> int:
    """Return the exit status that a report has, and say on standard error why it is 2.

    A cause counts with every `--fail-on` but `none`. Where nothing that counts fires, a model without
    a verdict is no success: what it rests on could not be read.
    """
    wanted = fail_on(arguments.fail_on)
    if FailOn.NONE in wanted:
        return NOTHING_FIRES
    fails = (
        any(map(is_cause, report.findings))
        or (FailOn.NOTICE in wanted and any(map(is_notice, report.findings)))
        or (
            FailOn.UNKNOWN in wanted
            and (bool(report.unknown) or any(map(is_blind, report.findings)))
        )
    )
    if fails:
        return SOMETHING_FIRES
    found = models_without_verdict(report)
    if not found or arguments.allow_unknown:
        return NOTHING_FIRES
    sys.stderr.write(f"{PROGRAM}: {why_without_verdict(report, found)}\n")
    return USAGE_STATUS
