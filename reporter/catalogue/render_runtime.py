"""The tables of `docs/runtime.md`, which are rendered into a page that is else written by hand."""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from reporter.catalogue.reason import Reason
from reporter.catalogue.render import escape
from reporter.catalogue.runtime import DOWNLOAD_SLOW, DOWNLOADS, RUNTIME
from reporter.catalogue.silencing import SILENCING

_PART: Final = re.compile(
    r"(?P<begin><!-- rendered: (?P<name>[a-z]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


def runtime_page(text: str) -> str:
    """Return a page with its tables rendered anew."""
    tables = {"reasons": _reasons, "thresholds": _thresholds, "silencing": _silencing}
    return _PART.sub(
        lambda part: part["begin"] + _joined(tables[part["name"]]()) + part["end"], text
    )


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


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
        downstream = ", ".join(f"`{each}`" for each in row.downstream)
        yield f"| `{row.upstream}` | {downstream} | {escape(row.why)} |"


if __name__ == "__main__":
    sys.stdout.write(runtime_page(Path(sys.argv[1]).read_text()))
