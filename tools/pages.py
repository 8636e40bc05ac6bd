"""The pages of `docs` that say what the catalogue says, as a whole or in parts."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from reporter.catalogue.pickers import ENGINES, FROM_PAGES
from reporter.catalogue.render import by_subject, facts, looks, switched_off
from reporter.catalogue.runtime import DOWNLOAD_SLOW, RUNTIME, of_kind
from reporter.catalogue.shared_parts import shared_parts
from reporter.catalogue.ways import WAYS
from reporter.diagnosis.signatures import Signature, built_in, texts
from reporter.model.catalogue import Catalogue
from reporter.model.objects import KubeObject
from reporter.model.reason import Reason
from reporter.model.resource import Resource
from reporter.model.stack import Controller, Need, StackRows

_FOLDED: Final = frozenset({"Suppresses", "Suppressed by", "Missed where"})
"""Facts that are lists too long for a table."""
_USUAL: Final = frozenset(
    {
        ("Grace", "The global one, --startup-grace-seconds."),
        ("Grace", "The window is the grace."),
        ("Blocks Ready", "yes"),
        ("In the chain", "yes"),
    }
)
"""Facts that the index says once, for every reason without a row of its own."""
_OF_THE_STACK: Final = frozenset({"Reads", "Suppressed by", "Suppresses"})
"""Facts in which reasons from metrics differ from stack to stack, by their names alone."""

_STACK_HEAD: Final = """\
# Reasons: {title}

Rendered from the catalogue (`make docs`). The index of all reasons, and what holds where a table has no
row for it, is in [reasons.md](reasons.md).
"""
_MARKDOWN_HEAD: Final = """\
# Reasons

The closed vocabulary of the status reporter: each Event carries one of these reasons. This page is
rendered from the catalogue (`make docs`); `status-reporter explain <reason>` shows the same.

For each kind of subject the reasons stand in the order of the priority chain. A reason outside of the chain is
written in addition. Which models a cause hits, the report says itself (`impact`).

Where a table has no row for it:

- **Grace**: the global one, `--startup-grace-seconds`; of a reason with a window, the window.
- **Blocks Ready** and **In the chain**: yes. A reason that says that all is well has neither, and no grace.
- **Switch off**: `--disable-reasons REASON`; for one object the annotation `status-reporter.io/mute` on it
  ([mutes](events.md#mutes-living-with-a-known-fault)). The report shows it all the same.
"""


def reasons_page(catalogue: Catalogue) -> str:
    """Return `docs/reasons.md`: the index, and the reasons above the stacks."""
    index: list[str] = []
    parts: list[str] = []
    for title, reasons in by_subject(catalogue):
        page = catalogue.page_of(reasons[0])
        index += [f"- **{title}**: {', '.join(_link(each, page) for each in reasons)}"]
        if not page:
            parts += _sections(title, reasons, catalogue)
    return "\n".join([_MARKDOWN_HEAD, *index, "", *parts])


def stack_pages(catalogue: Catalogue) -> dict[str, str]:
    """Return the pages with the reasons of each stack's subjects, by their names in `docs`."""
    pages: dict[str, list[str]] = {}
    for title, reasons in by_subject(catalogue):
        name = catalogue.page_of(reasons[0])
        if name:
            parts = pages.setdefault(name, [_STACK_HEAD.format(title=title.partition(": ")[2])])
            parts += _sections(title, reasons, catalogue)
    return {name: "\n".join(parts) for name, parts in pages.items()}


def _link(reason: Reason, page: str) -> str:
    return f"[{reason.name}]({page}#{reason.name.lower()})"


def _sections(title: str, reasons: Iterable[Reason], catalogue: Catalogue) -> Iterator[str]:
    yield f"## {title}\n"
    for reason in reasons:
        yield f"### {reason.name}\n"
        yield f"{reason.type}. {escape(reason.summary)}\n"
        first = _first_like(reason, catalogue)
        if first is not reason:
            yield f"Everything else is as for {_link(first, catalogue.page_of(first))}.\n"
            continue
        told = _unusual(reason, catalogue)
        rows = [f"| {name} | {escape(text)} |" for name, text in told if name not in _FOLDED]
        yield "\n".join(["| | |", "| --- | --- |", *rows]) + "\n"
        if commands := looks(reason, catalogue):
            yield "How to look:\n\n" + "".join(f"    {each}\n" for each in commands)
        for name, text in told:
            if name in _FOLDED:
                folded = escape(text).replace("; ", "<br>")
                yield f"<details><summary>{name}</summary>\n\n{folded}\n\n</details>\n"


def _unusual(reason: Reason, catalogue: Catalogue) -> list[tuple[str, str]]:
    """Return the facts that the index does not say for all reasons."""
    common = {*_USUAL, ("Switch off", switched_off(reason))} if reason.mutable else _USUAL
    return [fact for fact in facts(reason, catalogue)[1:] if fact not in common]


def _first_like(reason: Reason, catalogue: Catalogue) -> Reason:
    """Return the first reason that differs in names alone, which may be the reason.

    One from metrics may be of another stack; another one stands on the same page, of another kind.
    """
    if reason.window_seconds is None:
        suffix = reason.name.removeprefix(str(reason.subject_kind))
        page, told = catalogue.page_of(reason), _of_all_kinds(reason, catalogue)
        return next(
            each
            for each in catalogue
            if each.name.endswith(suffix)
            and catalogue.page_of(each) == page
            and _of_all_kinds(each, catalogue) == told
        )
    told_of_all = _of_all_stacks(reason, catalogue)
    return next(
        each
        for each in catalogue
        if each.window_seconds is not None and _of_all_stacks(each, catalogue) == told_of_all
    )


def _of_all_stacks(reason: Reason, catalogue: Catalogue) -> list[tuple[str, str]]:
    told = _unusual(reason, catalogue)
    return [(title, text) for title, text in told if title not in _OF_THE_STACK]


def _of_all_kinds(reason: Reason, catalogue: Catalogue) -> list[tuple[str, str]]:
    """Return the same without the names of the kind that it is about."""
    if catalogue.stack_of(reason.subject_kind) is None:
        return [("", reason.name)]
    resource, *_ = catalogue.of_subject(reason.subject_kind)
    own = (str(resource), resource.plural, resource.kind, str(reason.subject_kind))
    told = [("", reason.summary), *_of_all_stacks(reason, catalogue)]
    for name in own:
        told = [(title, text.replace(name, "")) for title, text in told]
    return told


def escape(text: str) -> str:
    """Return text for a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


_PART: Final = re.compile(
    r"(?P<begin><!-- rendered: (?P<name>[a-z]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


def with_parts(text: str, parts: Mapping[str, Callable[[], Iterable[str]]]) -> str:
    """Return a page with its parts rendered again; each is the lines between two comments."""

    def rendered(part: re.Match[str]) -> str:
        lines = "".join(f"{line}\n" for line in parts[part["name"]]())
        return part["begin"] + lines + part["end"]

    return _PART.sub(rendered, text)


def components_page(text: str, catalogue: Catalogue) -> str:
    """Return a page with its tables rendered anew."""
    rows = {"needs": partial(_needs, catalogue), "kinds": partial(_kinds, catalogue)}
    return with_parts(text, rows)


def _needs(catalogue: Catalogue) -> Iterator[str]:
    yield "| part | its reason | is missed where the cluster has | because |"
    yield "| --- | --- | --- | --- |"
    for part in shared_parts(catalogue):
        reasons = ", ".join(dict.fromkeys(f"`{each.reason}`" for each in part.controllers))
        for need in _of(part.controllers):
            yield f"| `{part.name}` | {reasons} | {need.words} | {need.evidence} |"


def _kinds(catalogue: Catalogue) -> Iterator[str]:
    yield "| part | kind | is missed where the cluster has | because |"
    yield "| --- | --- | --- | --- |"
    for part in shared_parts(catalogue):
        for kind in part.required:
            start = f"| `{part.name}` | `{kind.crd}` |"
            for each in kind.of:
                yield f"{start} a Deployment of `{each}` | it cannot run without the kind |"
            for need in kind.needs:
                yield f"{start} {need.words} | {need.evidence} |"


def _of(rows: Iterable[Controller]) -> Iterable[Need]:
    return dict.fromkeys(need for each in rows for need in each.needs)


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


def stacks_page(text: str, catalogue: Catalogue) -> str:
    """Return a page with its tables rendered again."""
    return with_parts(
        text,
        {
            "stacks": partial(_stacks, catalogue),
            "ways": _ways,
            "unsaid": partial(_unsaid, catalogue),
        },
    )


def _stacks(catalogue: Catalogue) -> Iterator[str]:
    yield "| stack | reads, besides what all stacks share | derives | reasons | requires |"
    yield "| --- | --- | --- | --- | --- |"
    for stack in catalogue.stacks:
        subjects = ", ".join(
            dict.fromkeys(f"{each.kind}s" for each in (*stack.shares, *stack.subjects))
        )
        name = f"**{stack.project}** (`{stack.name}`): {subjects}"
        words = stack.words
        cells = (name, _read_by(stack), words.derived, _told_of(stack, catalogue), words.required)
        yield f"| {' | '.join(cells)} |"


def _unsaid(catalogue: Catalogue) -> Iterator[str]:
    yield "| kind | not told |"
    yield "| --- | --- |"
    for stack in catalogue.stacks:
        for kind, unsaid in stack.words.unsaid:
            yield f"| {kind} | {'; '.join(unsaid)} |"


def _read_by(stack: StackRows) -> str:
    return ", ".join(map(_read, stack.resources))


def _read(resource: Resource[KubeObject]) -> str:
    label = f"label `{resource.label_selector}`" if resource.label_selector else ""
    mode = f"only with `{resource.stack}=on`" if resource.wide else ""
    if resource.opt_in:
        mode = f"only with `--{resource.opt_in.replace('_', '-')}`"
    said = ", ".join(each for each in (label, mode) if each)
    return f"`{resource}`" + (f" ({said})" if said else "")


def _told_of(stack: StackRows, catalogue: Catalogue) -> str:
    told = stack.reasons
    judged = [each for each in told if each.window_seconds is None]
    parts = {
        "of the cluster: ": _named(
            catalogue[each.reason] for each in stack.controllers if each.with_stack
        ),
        "by priority: ": _named(each for each in judged if each.chain),
        "in addition: ": _named(each for each in judged if not each.chain and not each.says_ready),
        "": _from_metrics([each for each in told if each not in judged]),
        "when it works: ": _named(each for each in judged if each.says_ready),
    }
    return "; ".join(f"{title}{names}" for title, names in parts.items() if names)


def _from_metrics(reasons: Sequence[Reason]) -> str:
    """Name the first and the last: all stacks have the same, under the name of their subjects."""
    if not reasons:
        return ""
    first, last = reasons[0].name, reasons[-1].name
    return f"{len(reasons)} [from metrics](runtime.md), `{first}` to `{last}`"


def _named(reasons: Iterable[Reason]) -> str:
    return ", ".join(f"`{each.name}`" for each in reasons)


def _ways() -> Iterator[str]:
    yield "| Part | Requests without it | Clients get | Reasons | Source |"
    yield "| --- | --- | --- | --- | --- |"
    for each in WAYS:
        reasons = ", ".join(f"`{name}`" for name in each.reasons)
        yield f"| {each.part} | {each.without} | {each.clients} | {reasons} | {each.source} |"


BEGIN: Final = "<!-- signatures: rendered by `make docs` -->\n"
END: Final = "<!-- end of signatures -->\n"


def signature_page(page: str) -> str:
    """Return the page with the table of signatures in its place."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = "".join(map(_signature, built_in()))
    head = "| id | class | sureness | container | what it means | what to do | pattern | source |\n"
    return f"{before}{BEGIN}\n{head}|{' --- |' * 8}\n{rows}\n{END}{after}"


def _signature(signature: Signature) -> str:
    row = signature.row
    source = "; ".join(each for each in (row.source, row.versions) if each)
    cells = (
        f"`{signature.id}`",
        row.kind,
        row.sureness,
        row.container,
        " / ".join(texts(row.means)),
        " / ".join(texts(row.do)),
        f"`{row.match.replace('|', chr(92) + '|')}`",
        source,
    )
    return f"|{'|'.join(cells)}|\n"
