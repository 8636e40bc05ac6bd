"""README.md: what people met, and what is told of it."""

from collections import Counter
from pathlib import Path

from tests.incidents.score import cases, is_plain, named_in_a_model, told_of

PAGE = Path(__file__).with_name("README.md")

_HEAD = """\
# What people met, and what is told

These are {all} incidents that people reported in public threads: somebody asked why a model or its pods do
not serve, and the thread says what the cause was. They were taken in the order in which they were found. Each was rebuilt as the dump and
the logs that a cluster in that state gives (`tests/incidents/`), and what must be told was written down before
`check` saw it. Where a thread quotes only a part of what its cluster said, the rest is what that software says then, and a note tells so.
Those of `cases/further.yaml` were looked for where the diagnosis was thought to be weak, and the words asked of a few of them were corrected to those that `check` uses.
Those of `cases/engines.yaml` were picked before it was known what is told of them: 12 of these 31 were named then.
Of the 29 of `cases/controllers.yaml`, which nobody had looked at, 9 were named at first, and nothing untrue was told.
Of the 45 of `cases/machines.yaml` 17 were named at first; the words asked of five were corrected.
Of the 22 of `cases/mixed.yaml`, picked after all others had been mended, 10 were named at first. Of two more the cause was told in other words; the words asked of three were corrected.
Of the 35 of `cases/clusters.yaml`, taken as the search gave them, 7 were named at first, and nothing untrue was told; the words asked of three were corrected.
Of the 30 of `cases/reconcilers.yaml`, which nobody had looked at, 9 were named at first; one message was untrue.
Of the 28 of `cases/servers.yaml`, taken as a search gave them, 10 were named at first; of one more the score did not know the reason that is true of its kind.
Of the 19 of `cases/last.yaml`, of every kind and picked after all others had been mended, 8 were named at first, and one more once an object had the labels that its controller gives it.
Of the 25 of `cases/paths.yaml`, of the way to a model and taken as a search gave them, 2 were named at first, and nothing untrue was told; of one more the score did not know the reason that is true of it. The words asked of two were corrected, and five were rebuilt more truly.
Of the 30 of `cases/runtimes.yaml`, servers alone and each with another cause, 4 were named at first; of many the cause was told without the values that were asked, and one message was untrue. The words asked of one were corrected, and one was rebuilt with another probe.
Of the 24 of `cases/fleet.yaml`, taken as the search gave them, 7 were named at first, and nothing untrue was told; the words asked of one were corrected.
The rules were improved on these incidents afterwards, so that this is no measure of threads that nobody here has seen.
This page is rendered: `python -m tests.incidents --write`.

| | incidents | named | a true symptom | nothing | untrue |
| --- | --- | --- | --- | --- | --- |
{table}

The diagnosis does not depend on the kind: of the plain workloads whose own pods are at fault, {in_a_model} are named
once the same pods belong to an InferenceService.

**Named** is one finding that says the cause with its values, and nothing beside it. **By class**: {classes}.
"""

_NO_KIND = "Workloads without a kind of their own are not looked at."
_WHY = {
    "nothing": "Nothing is told.",
    "symptom": "Told is what hurts, not the cause.",
    "untrue": "What is told is not true of the case.",
}


def page() -> str:
    """Return the page as the present program gives it."""
    known = [each for each in cases() if not is_plain(each)]
    plain = [each for each in cases() if is_plain(each)]
    parts = [
        _HEAD.format(
            all=len(cases()),
            table=_table(known, plain),
            classes=_classes(),
            in_a_model="{} of {}".format(*named_in_a_model()),
        )
    ]
    for title, chosen in (("Models of a known kind", known), ("Plain workloads", plain)):
        parts.append(f"## {title}\n")
        parts += [_entry(each) for each in chosen if told_of(each).outcome == "named"]
        missed = [each for each in chosen if told_of(each).outcome != "named"]
        if missed:
            parts.append(f"### {title}: not named\n")
            parts += [_entry(each) for each in missed]
    return "\n".join(parts)


def _table(known, plain) -> str:
    rows = []
    for name, chosen in (("models of a known kind", known), ("plain workloads", plain)):
        count = Counter(told_of(each).outcome for each in chosen)
        cells = (count[each] for each in ("named", "symptom", "nothing", "untrue"))
        rows.append(f"| {name} | {len(chosen)} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(rows)


def _classes() -> str:
    every = Counter(each["class"] for each in cases())
    named = Counter(each["class"] for each in cases() if told_of(each).outcome == "named")
    return ", ".join(f"{each} {named[each]} of {count}" for each, count in sorted(every.items()))


def _entry(case) -> str:
    told = told_of(case)
    lines = [f"* {_link(case['source'])}: {case['asked']} {case['cause']}"]
    if "note" in case:
        lines.append(f"  Rebuilt: {case['note']}")
    if told.outcome != "named":
        why = case.get("missed") or (_NO_KIND if is_plain(case) else _WHY[told.outcome])
        lines.append(f"  {why}")
    for _, message, action in told.causes[:1]:
        lines.append(f"  Told: `{message.replace('`', chr(39))}`{f' {action}' if action else ''}")
    return "<br>\n".join(lines) + "\n"


def _link(source: str) -> str:
    if source.startswith("https://"):
        return f"<{source}>"
    repository, _, number = source.partition("#")
    return f"[{source}](https://github.com/{repository}/issues/{number})"


def write_page() -> None:
    """Write the page."""
    PAGE.write_text(page())
