"""The tables of `docs/runtime.md`, which are rendered into a page that is else written by hand."""

from collections.abc import Iterator
from functools import partial

from reporter.catalogue.pickers import ENGINES, FROM_PAGES
from reporter.catalogue.render import escape
from reporter.catalogue.runtime import DOWNLOAD_SLOW, RUNTIME, of_kind
from reporter.catalogue.shared_parts import with_parts
from reporter.model.catalogue import Catalogue
from reporter.model.reason import Reason


def runtime_page(text: str, catalogue: Catalogue) -> str:
    """Return a page with its tables rendered again."""
    return with_parts(
        text,
        {
            "reasons": partial(_reasons, catalogue),
            "thresholds": partial(_thresholds, catalogue),
            "engines": partial(_engines, catalogue),
            "suppression": partial(_suppression, catalogue),
        },
    )


def _reasons(catalogue: Catalogue) -> Iterator[str]:
    yield "| reason | window | thresholds | means |"
    yield "| --- | --- | --- | --- |"
    for reason in FROM_PAGES.values():
        names = _names(reason)
        cells = (
            f"`{_name(reason, catalogue)}`",
            f"{reason.window_seconds} s",
            names,
            escape(reason.summary),
        )
        yield f"| {' | '.join(cells)} |"


def _name(reason: Reason, catalogue: Catalogue) -> str:
    return of_kind(reason.name, catalogue.metrics_kind)


def _names(reason: Reason) -> str:
    if reason.name == DOWNLOAD_SLOW:
        return "`--weight-download-min-mbps`"
    return ", ".join(f"`{each.name}`" for each in reason.thresholds)


def _thresholds(catalogue: Catalogue) -> Iterator[str]:
    yield "| threshold | default | largest | of | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for reason in RUNTIME:
        for each in reason.thresholds:
            numbers = f"{each.default:g} | {each.most:g}"
            yield f"| `{each.name}` | {numbers} | `{_name(reason, catalogue)}` | {escape(each.meaning)} |"


def _engines(catalogue: Catalogue) -> Iterator[str]:
    yield "| reason | vLLM | vLLM, Rust front end | SGLang |"
    yield "| --- | --- | --- | --- |"
    for reason, row in ENGINES.items():
        name = of_kind(reason, catalogue.metrics_kind)
        yield f"| `{name}` | {row.vllm} | {row.rust} | {row.sglang} |"


def _suppression(catalogue: Catalogue) -> Iterator[str]:
    yield "| while this fires for a pod | these are not reported for it | because |"
    yield "| --- | --- | --- |"
    for row in catalogue.pod_suppression:
        if not row.upstream.startswith(catalogue.metrics_kind):
            continue
        downstream = ", ".join(f"`{each}`" for each in row.downstream)
        yield f"| `{row.upstream}` | {downstream} | {escape(row.why)} |"
