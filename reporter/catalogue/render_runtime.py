"""The tables of `docs/runtime.md`, which are rendered into a page that is else written by hand."""

import sys
from collections.abc import Iterator
from pathlib import Path

from reporter.catalogue.parts import with_parts
from reporter.catalogue.render import escape
from reporter.catalogue.runtime import DOWNLOAD_SLOW, DOWNLOADS, RUNTIME
from reporter.catalogue.silencing import SILENCING
from reporter.model.reason import Reason
from reporter.model.subject import SubjectKind


def runtime_page(text: str) -> str:
    """Return a page with its tables rendered anew."""
    return with_parts(
        text, {"reasons": _reasons, "thresholds": _thresholds, "silencing": _silencing}
    )


def _reasons() -> Iterator[str]:
    yield "| reason | window | thresholds | means |"
    yield "| --- | --- | --- | --- |"
    for reason in (*DOWNLOADS, *RUNTIME):
        names = _names(reason)
        cells = (f"`{reason.name}`", f"{reason.window_seconds} s", names, escape(reason.summary))
        yield f"| {' | '.join(cells)} |"


def _names(reason: Reason) -> str:
    if reason.name == DOWNLOAD_SLOW:
        return "`--weight-download-min-mbps`"
    return ", ".join(f"`{each.name}`" for each in reason.thresholds)


def _thresholds() -> Iterator[str]:
    yield "| threshold | default | largest | of | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for reason in RUNTIME:
        for each in reason.thresholds:
            numbers = f"{each.default:g} | {each.most:g}"
            yield f"| `{each.name}` | {numbers} | `{reason.name}` | {escape(each.meaning)} |"


def _silencing() -> Iterator[str]:
    yield "| while this fires for a pod | these are not told of it | because |"
    yield "| --- | --- | --- |"
    for row in SILENCING:
        if not row.upstream.startswith(SubjectKind.INFERENCESET):
            continue
        downstream = ", ".join(f"`{each}`" for each in row.downstream)
        yield f"| `{row.upstream}` | {downstream} | {escape(row.why)} |"


if __name__ == "__main__":
    sys.stdout.write(runtime_page(Path(sys.argv[1]).read_text()))
