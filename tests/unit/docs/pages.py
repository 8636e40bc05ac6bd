"""The pages for users, as text and as tables."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
CHART = ROOT / "helm" / "productionstack-status-reporter"
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in (
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    )
}

_RULE = re.compile(r"\|[\s|:-]+\|")


def page(name: str) -> str:
    """Return a page of docs/."""
    return PAGES[f"docs/{name}"]


def section(text: str, heading: str) -> str:
    """Return what stands between a heading and the next one of its level or above."""
    level, _, _ = heading.partition(" ")
    _, _, rest = text.partition(f"\n{heading}\n")
    assert rest, f"no heading {heading}"
    return re.split(rf"\n#{{1,{len(level)}}} ", rest)[0]


def table(text: str, first: str) -> list[list[str]]:
    """Return the rows of the table whose first column is named so, without its head."""
    rows: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            if inside:
                return rows
        elif inside and not _RULE.fullmatch(line):
            rows.append(cells)
        elif cells[0] == first:
            inside = True
    assert rows, f"no table with the column {first}"
    return rows


def code(cell: str) -> list[str]:
    """Return what a cell has in backticks."""
    return re.findall(r"`([^`]*)`", cell)


def found(pattern: str) -> Iterator[tuple[str, str]]:
    """Yield page and text of each match of a pattern on all pages."""
    for name, text in PAGES.items():
        for match in sorted(set(re.findall(pattern, text))):
            yield name, match


def anchors(text: str) -> set[str]:
    """Return the anchors that a page's headings have where it is shown."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-") for each in headings}
