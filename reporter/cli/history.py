"""`status-reporter history`: what fired during the last day, whom it hit, and what ended it."""

import argparse
import json
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

import msgspec

from reporter.arguments import Parser, text_columns
from reporter.cli.daemon_report import FORWARD, HISTORY, LOCAL, fetch, require_time
from reporter.errors import UsageError
from reporter.model.instant import rfc3339
from reporter.model.objects.base import Timestamp
from reporter.model.report import Impact
from reporter.model.text import clean, json_text
from reporter.sinks.history import when
from reporter.sinks.words import impact_text, wrapped

_EXAMPLES: Final = (
    ("status-reporter history --since 2h", "what fired within two hours, the newest first"),
    ("status-reporter history phi -n chat-models", "of one model"),
    ("status-reporter history clusterKedaNotReady -o json", "of one reason, as JSON"),
)
_SPAN: Final = re.compile(r"([1-9][0-9]{0,4})(s|m|h|d)")
_INDENT: Final = "    "
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class _Impact(msgspec.Struct, rename="camel"):
    not_serving: int
    degraded: int
    namespaces: int


class _Episode(msgspec.Struct, rename="camel"):
    id: str
    reason: str
    subject: str
    began: Timestamp
    ended: Timestamp | None
    about: bool
    message: str = ""
    disposition: str | None = None
    impact: _Impact | None = None
    changes: tuple[str, ...] = ()
    ended_after: str | None = None
    became: str = ""


class _Story(msgspec.Struct, rename="camel"):
    now: Timestamp
    episodes: tuple[_Episode, ...]
    more_episodes: int = 0
    seen_since: Timestamp | None = None
    recorded: bool = False


def _matches(each: _Episode, wanted: argparse.Namespace, now: datetime) -> bool:
    """Tell whether an episode matches; `since` requires that it went on within that time."""
    kind, _, rest = each.subject.partition("/")
    names = {each.reason, each.subject, rest, rest.rpartition("/")[2], kind}
    place = rest.partition("/")[0]
    late = wanted.since is None or each.ended is None or each.ended >= now - wanted.since
    in_place = (wanted.namespace or "") in {"", place}
    return late and in_place and (not wanted.name or wanted.name in names)


def main(argv: Sequence[str]) -> int:
    arguments = command_parser().parse(argv)
    url = arguments.url.rstrip("/")
    body = fetch(url, HISTORY)
    try:
        story = msgspec.json.decode(body, type=_Story)
    except msgspec.DecodeError as error:
        raise UsageError(f"the answer is not a history that this version reads: {error}") from None
    times = ((each.began, each.ended) for each in story.episodes)
    for moment in filter(None, (story.now, *chain.from_iterable(times))):
        require_time(moment)
    shown = [each for each in story.episodes if _matches(each, arguments, story.now)]
    if arguments.output == "json":
        ids = {each.id for each in shown}
        document = json.loads(body)
        document["episodes"] = [each for each in document["episodes"] if each["id"] in ids]
        text = json_text(document) + "\n"
    else:
        text = "".join(f"{line}\n" for line in _lines(story, shown, url))
    sys.stdout.write(text)
    return 0


def command_parser() -> Parser:
    parser = Parser(
        "history",
        "Show what fired during the last day: when, for how long, whom it hit, what had changed, "
        "what ended it.",
        arguments="[SUBJECT|REASON] [FLAGS]",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "name",
        nargs="?",
        metavar="SUBJECT|REASON",
        help="a subject as check names it, a model's name, or a reason; all by default",
    )
    parser.add_argument("-n", "--namespace", help="only episodes of this namespace")
    parser.add_argument(
        "--since",
        type=_span,
        metavar="DURATION",
        help="only episodes that went on within this time, such as 2h or 30m (a day)",
    )
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="text or json (text)"
    )
    parser.add_argument(
        "--url",
        default=LOCAL,
        help=f"where the daemon serves its report ({LOCAL}); for one in a cluster: {FORWARD}",
    )
    return parser


def _span(text: str) -> timedelta:
    found = _SPAN.fullmatch(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed; allowed: such as 30m, 2h, 1d")
    return timedelta(seconds=int(found[1]) * _SECONDS[found[2]])


def _lines(story: _Story, shown: Sequence[_Episode], url: str) -> Iterator[str]:
    terminal = shutil.get_terminal_size().columns
    columns = text_columns(terminal) if sys.stdout.isatty() else None
    count = f"{len(shown)} episode{'' if len(shown) == 1 else 's'}"
    seen = f"this daemon has watched since {rfc3339(story.seen_since)}" if story.seen_since else ""
    before = "earlier ones are from Events on record (about: their last refresh counts as the end)"
    known = "; ".join(filter(None, (seen, before if story.recorded else "")))
    yield from wrapped(f"{count}; {known}. Times are UTC." if known else f"{count}.", columns)
    for each in shown:
        yield ""
        muted = each.disposition == "muted"
        times = when(each.began, each.ended, story.now, muted=muted, about=each.about)
        yield f"{times}  {clean(each.reason)}  {clean(each.subject)}"
        yield from _details(each, columns)
        yield f"{_INDENT}{url}/?all#{clean(each.id)}"
    if story.more_episodes:
        yield f"\n{story.more_episodes} more are not listed."


def _details(each: _Episode, columns: int | None) -> Iterator[str]:
    lines = [each.message]
    if each.impact is not None:
        hit = Impact(each.impact.not_serving, each.impact.degraded, each.impact.namespaces)
        lines.append(f"Impact at worst: {impact_text(hit)}")
    lines += [f"Changed before: {change}" for change in each.changes if change not in each.message]
    if each.ended_after:
        lines.append(f"Ended after: {each.ended_after}")
    elif each.became:
        lines.append(f"Then {each.became}")
    for line in lines:
        yield from wrapped(clean(line), columns, _INDENT)
