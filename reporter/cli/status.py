"""`status-reporter status`: what a running daemon sees now."""

import argparse
import asyncio
import json
import re
import shlex
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from reporter.arguments import Parser
from reporter.cli.daemon_report import FORWARD, LOCAL, REPORT, fetch, report_of
from reporter.cli.explain import catalogue_of
from reporter.cli.judged import in_namespace
from reporter.cli.rendering import (
    Screen,
    View,
    add_options,
    exit_status_of,
    page_of,
    require_sense,
    until_interrupted,
    write,
)
from reporter.errors import UsageError
from reporter.model.catalogue import Catalogue
from reporter.model.report import Report
from reporter.model.text import clean, for_terminal, json_text

_POD_PATHS: Final = {"json": "/api/v1/pods/{}", "text": "/pods/{}"}
_POD: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_POLL_SECONDS: Final = 2.0
_EXAMPLES: Final = (
    ("status-reporter status", "the daemon on this machine, or whose port is forwarded"),
    ("status-reporter status -n chat-models -w", "one namespace, again on every change"),
    ("status-reporter status --pod chat-models/llama-0", "what was scraped from a pod"),
)


def main(argv: Sequence[str]) -> int:
    arguments = command_parser().parse(argv)
    require_sense(arguments)
    if arguments.sources:
        raise UsageError(
            "status asks a daemon; to check a dump: "
            f"status-reporter check {shlex.join(arguments.sources)}"
        )
    url = arguments.url.rstrip("/")
    if arguments.pod is not None:
        body = fetch(url, _path_of_pod(arguments.output, arguments.pod))
        sys.stdout.write(for_terminal(body.decode("utf-8", "replace")))
        return 0
    catalogue = catalogue_of(arguments.config)
    if arguments.watch:
        return until_interrupted(lambda: _show_changes(url, arguments, catalogue))
    view = _view(fetch(url, REPORT), arguments, catalogue)
    write(view.text(arguments.output, full=arguments.full), arguments.output)
    return exit_status_of(view.report, arguments)


def command_parser() -> Parser:
    made = Parser("status", "Show what a running daemon sees now.", examples=_EXAMPLES)
    made.add_argument(
        "--url",
        default=LOCAL,
        help=f"where the daemon serves its report ({LOCAL}); for one in a cluster: {FORWARD}",
    )
    made.add_argument(
        "--pod",
        metavar="NAMESPACE/NAME",
        help="what was last scraped from a pod, and why it is or is not judged",
    )
    add_options(made, dump=False)
    made.add_argument(
        "--config",
        metavar="PATH",
        help="file of settings, YAML, with reasons of your own; STATUS_REPORTER_CONFIG",
    )
    return made


def _path_of_pod(output: str, pod: str) -> str:
    if not _POD.fullmatch(pod):
        raise UsageError(f"--pod: {pod!r} is not allowed; allowed: NAMESPACE/NAME")
    if output not in _POD_PATHS:
        raise UsageError(f"--pod: -o {output} is for reports; allowed: text, json")
    return _POD_PATHS[output].format(pod)


def _view(body: bytes, arguments: argparse.Namespace, catalogue: Catalogue) -> View:
    namespace = arguments.namespace or ""
    report, passed_over = report_of(body, catalogue)
    if namespace:
        if all(each.namespace != namespace for each in report.subjects):
            raise UsageError(
                f"the daemon knows of no model in namespace {clean(namespace)}; see -n"
            )
        report = in_namespace(report, namespace)
    return View(
        report=report,
        document=lambda: _document(body, report, namespace),
        page=lambda: page_of(report, "the daemon"),
        about=f"the daemon; namespace {namespace}" if namespace else "the daemon",
        notes=passed_over,
    )


def _document(body: bytes, report: Report, namespace: str) -> bytes:
    """Return the daemon's answer unchanged, or its part about one namespace."""
    if not namespace:
        return body
    document: dict[str, object] = json.loads(body)
    subjects = {"cluster", *map(str, report.subjects)}

    def of(key: str) -> list[dict[str, object]]:
        try:
            return msgspec.convert(document.get(key, []), list[dict[str, object]])
        except msgspec.ValidationError as error:
            raise UsageError(f"the answer is not a report: {key}: {error}") from None

    for key in ("findings", "subjects", "ready"):
        document[key] = [each for each in of(key) if str(each.get("subject")) in subjects]
    for key in ("skipped", "derived"):
        document[key] = [each for each in of(key) if str(each.get("namespace")) in {"", namespace}]
    messages = {finding.message for finding in report.findings}
    document["events"] = [each for each in of("events") if str(each.get("message")) in messages]
    return json_text(document).encode() + b"\n"


async def _show_changes(url: str, arguments: argparse.Namespace, catalogue: Catalogue) -> None:
    def ask() -> View:
        return _view(fetch(url, REPORT), arguments, catalogue)

    screen = Screen(sys.stdout, sys.stderr)
    # Fail at once if no daemon answers; later failures may be temporary.
    view = await asyncio.to_thread(ask)
    while True:
        screen.show(view, arguments.output, full=arguments.full)
        await asyncio.sleep(_POLL_SECONDS)
        try:
            view = await asyncio.to_thread(ask)
        except UsageError as error:
            screen.remark(str(error), keep=True)
