"""Several clusters side by side: `check --context a,b` and `--all-contexts`.

Each cluster is judged alone, by its own rights. One that cannot be reached is a row, not the end.
"""

import argparse
import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree as ET

from reporter.arguments import USAGE_STATUS
from reporter.cli.configure import ProgramSettings
from reporter.cli.one_look import CheckInput, judged, look_at_cluster, with_manifests
from reporter.cli.rendering import (
    NOTHING_FIRES,
    SOMETHING_FIRES,
    exit_status_of,
    terminal,
    view_of,
    write,
    yaml_of,
)
from reporter.errors import UsageError
from reporter.model.report import Report
from reporter.model.text import clean, cut, unseen_escaped
from reporter.sinks.junit import report_junit
from reporter.sinks.report_json import API_VERSION
from reporter.sinks.report_text import finding_table
from reporter.sinks.subject_metrics import metrics_text
from reporter.sinks.words import is_cause, models_text, table_rows, verdict, wrapped

_CONCURRENT: Final = 4
_COLUMNS: Final = ("CONTEXT", "VERDICT", "MODELS", "FIRST CAUSE")
_NO_VERDICT: Final = "no verdict"
_CAUSE_BYTES: Final = 300
_BAD: Final = "\x1b[1;31m{}\x1b[0m"
_GOOD: Final = "\x1b[1;32m{}\x1b[0m"
_OF_ONE: Final = frozenset({"events", "html"})


@dataclass(frozen=True, slots=True)
class JudgedCluster:
    """What a look at one of the clusters gave; `fault` says why there is no report."""

    context: str
    look: CheckInput | None = None
    report: Report | None = None
    fault: str = ""


def contexts_of(arguments: argparse.Namespace, settings: ProgramSettings) -> tuple[str, ...]:
    """Return the contexts to look at; none where one cluster is looked at.

    Raises:
        UsageError: the kubeconfig cannot be read, or has no such context.

    """
    asked = settings.context or ""
    if not arguments.all_contexts and "," not in asked:
        return ()
    if arguments.all_contexts and asked:
        raise UsageError("--context and --all-contexts contradict each other; leave one out")
    _require_sense(arguments)
    known = _known_contexts(settings)
    if arguments.all_contexts:
        return known
    if asked in known:
        return ()
    names = tuple(dict.fromkeys(filter(None, (each.strip() for each in asked.split(",")))))
    if missing := [each for each in names if each not in known]:
        there = ", ".join(map(clean, known))
        raise UsageError(
            f"--context: there is no {clean(missing[0])} in the kubeconfig; it has {there}"
        )
    return names


def _require_sense(arguments: argparse.Namespace) -> None:
    if arguments.sources:
        raise UsageError(
            "a dump has no contexts; leave out --context and --all-contexts, or --from"
        )
    if arguments.watch:
        raise UsageError("-w is about one cluster; name one context")
    if arguments.output in _OF_ONE:
        raise UsageError(f"-o {arguments.output} is about one cluster; name one context")


def _known_contexts(settings: ProgramSettings) -> tuple[str, ...]:
    from reporter.kube.credentials import context_names
    from reporter.kube.errors import ConfigurationError

    try:
        return context_names(settings.kubeconfig)
    except ConfigurationError as error:
        raise UsageError(str(error)) from None


def look_at_fleet(
    contexts: Iterable[str], arguments: argparse.Namespace, settings: ProgramSettings
) -> int:
    """Print what each cluster says, and return the exit status for all of them.

    Returns:
        1 if something fires in any; else 2 if one could not be judged; else 0.

    """
    clusters = asyncio.run(_look(contexts, arguments, settings))
    write(_RENDERED[arguments.output](clusters, settings), arguments.output)
    reports = [each.report for each in clusters if each.report is not None]
    found = {exit_status_of(each, arguments) for each in reports}
    if SOMETHING_FIRES in found:
        return SOMETHING_FIRES
    judged_all = len(reports) == len(clusters) and USAGE_STATUS not in found
    return NOTHING_FIRES if judged_all else USAGE_STATUS


async def _look(
    contexts: Iterable[str], arguments: argparse.Namespace, settings: ProgramSettings
) -> list[JudgedCluster]:
    slots = asyncio.Semaphore(_CONCURRENT)

    async def one(context: str) -> JudgedCluster:
        own = settings.model_copy(update={"context": context})
        async with slots:
            try:
                look = await look_at_cluster(arguments, own)
                namespace = arguments.namespace or ""
                look = with_manifests(look, arguments.manifests, own, namespace=namespace)
                return JudgedCluster(context, look, judged(look, arguments, own))
            except UsageError as error:
                return JudgedCluster(context, fault=cut(" ".join(str(error).split()), _CAUSE_BYTES))

    return await asyncio.gather(*map(one, contexts))


def _text(clusters: Sequence[JudgedCluster], _: ProgramSettings) -> str:
    shown = terminal()
    rows = table_rows([_COLUMNS, *map(_row, clusters)], shown.columns)
    lines = [*rows[0]]
    for cluster, row in zip(clusters, rows[1:], strict=True):
        said = _row(cluster)[1]
        paint = _BAD if _is_bad(cluster) else _GOOD
        lines += [
            each.replace(said, paint.format(said), 1) if shown.colour else each for each in row
        ]
        if cluster.fault:
            lines += wrapped(cluster.fault, shown.columns, "    ")
    return "\n".join([*lines, "", "One in full: --context NAME"]) + "\n"


def _is_bad(cluster: JudgedCluster) -> bool:
    return cluster.report is None or any(map(is_cause, cluster.report.findings))


def _row(cluster: JudgedCluster) -> tuple[str, ...]:
    report = cluster.report
    name = clean(cluster.context)
    if report is None:
        return name, _NO_VERDICT, "", ""
    models = models_text(report).removeprefix("Models: ").removesuffix(".")
    causes = [each for each in report.findings if is_cause(each)]
    first = f"{causes[0].reason} {clean(str(causes[0].subject))}" if causes else ""
    return name, verdict(report), models, first


def _wide(clusters: Sequence[JudgedCluster], _: ProgramSettings) -> str:
    colour = terminal().colour
    parts = []
    for each in clusters:
        found = finding_table(each.report, colour=colour) if each.report else ""
        rest = f"{_NO_VERDICT}: {each.fault}\n" if each.fault else "No findings.\n"
        parts.append(f"context {clean(each.context)}\n{found or rest}")
    return "\n".join(parts)


def _document(clusters: Sequence[JudgedCluster], settings: ProgramSettings) -> dict[str, object]:
    items: list[object] = []
    for each in clusters:
        if each.report is None or each.look is None:
            items.append({"context": each.context, "error": each.fault})
        else:
            document = view_of(each.report, each.look, settings).document()
            items.append({"context": each.context, "report": json.loads(document)})
    return {"apiVersion": API_VERSION, "kind": "ReportList", "items": items}


def _json(clusters: Sequence[JudgedCluster], settings: ProgramSettings) -> str:
    return (
        unseen_escaped(json.dumps(_document(clusters, settings), indent=2, ensure_ascii=False))
        + "\n"
    )


def _junit(clusters: Sequence[JudgedCluster], _: ProgramSettings) -> str:
    suites = ET.Element("testsuites")
    for each in clusters:
        text = report_junit(each.report) if each.report else _NO_REPORT
        for suite in ET.fromstring(text):  # noqa: S314 - our own words
            suite.set("name", f"{suite.get('name')} {clean(each.context)}")
            for error in suite.iter("error") if each.report is None else ():
                error.set("message", each.fault)
            suites.append(suite)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


_NO_REPORT: Final = (
    '<testsuites><testsuite name="status-reporter" tests="1" failures="0" errors="1" skipped="0" '
    'time="0"><testcase classname="cluster" name="verdict" time="0"><error message="" '
    'type="unknown"/></testcase></testsuite></testsuites>'
)
"""What JUnit says of a cluster that could not be judged."""


def _prometheus(clusters: Sequence[JudgedCluster], _: ProgramSettings) -> str:
    return metrics_text(({"context": each.context}, each.report) for each in clusters)


_RENDERED: Final[dict[str, Callable[[Sequence[JudgedCluster], ProgramSettings], str]]] = {
    "text": _text,
    "wide": _wide,
    "json": _json,
    "yaml": lambda clusters, settings: yaml_of(_document(clusters, settings)),
    "junit": _junit,
    "prometheus": _prometheus,
}
