"""The table of `docs/stacks.md`: what is read, derived, told and required of each stack."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from reporter.catalogue.shared_parts import with_parts
from reporter.catalogue.ways import ways_table
from reporter.model.catalogue import Catalogue
from reporter.model.objects import KubeObject
from reporter.model.reason import Reason
from reporter.model.resource import Resource
from reporter.model.stack import StackRows


def stacks_page(text: str, catalogue: Catalogue) -> str:
    """Return a page with its table rendered again."""
    return with_parts(
        text,
        {
            "stacks": partial(_table, catalogue),
            "ways": ways_table,
            "unsaid": partial(_unsaid, catalogue),
        },
    )


def _table(catalogue: Catalogue) -> Iterator[str]:
    yield "| stack | reads, besides what all stacks share | derives | reasons | requires |"
    yield "| --- | --- | --- | --- | --- |"
    for stack in catalogue.stacks:
        subjects = ", ".join(
            dict.fromkeys(f"{each.kind}s" for each in (*stack.shares, *stack.subjects))
        )
        name = f"**{stack.project}** (`{stack.name}`): {subjects}"
        words = stack.words
        cells = (name, _reads(stack), words.derived, _reasons(stack, catalogue), words.required)
        yield f"| {' | '.join(cells)} |"


def _unsaid(catalogue: Catalogue) -> Iterator[str]:
    yield "| kind | not told |"
    yield "| --- | --- |"
    for stack in catalogue.stacks:
        for kind, texts in stack.words.unsaid:
            yield f"| {kind} | {'; '.join(texts)} |"


def _reads(stack: StackRows) -> str:
    return ", ".join(map(_read, stack.resources))


def _read(resource: Resource[KubeObject]) -> str:
    label = f"label `{resource.label_selector}`" if resource.label_selector else ""
    mode = f"only with `{resource.stack}=on`" if resource.wide else ""
    if resource.opt_in:
        mode = f"only with `--{resource.opt_in.replace('_', '-')}`"
    said = ", ".join(each for each in (label, mode) if each)
    return f"`{resource}`" + (f" ({said})" if said else "")


def _reasons(stack: StackRows, catalogue: Catalogue) -> str:
    told = stack.reasons
    judged = [each for each in told if each.window_seconds is None]
    parts = {
        "of the cluster: ": _names(
            catalogue[each.reason] for each in stack.controllers if each.with_stack
        ),
        "by priority: ": _names(each for each in judged if each.chain),
        "in addition: ": _names(each for each in judged if not each.chain and not each.says_ready),
        "": _from_metrics([each for each in told if each not in judged]),
        "when it works: ": _names(each for each in judged if each.says_ready),
    }
    return "; ".join(f"{title}{names}" for title, names in parts.items() if names)


def _from_metrics(reasons: Sequence[Reason]) -> str:
    """Name the first and the last: all stacks have the same, under the name of their subjects."""
    if not reasons:
        return ""
    first, last = reasons[0].name, reasons[-1].name
    return f"{len(reasons)} [from metrics](runtime.md), `{first}` to `{last}`"


def _names(reasons: Iterable[Reason]) -> str:
    return ", ".join(f"`{each.name}`" for each in reasons)
