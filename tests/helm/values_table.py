"""The table of values in a chart's README, from the comments `# --` of its values.yaml.

`python -m tests.helm.values_table` writes it again; a test holds every README to it.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.helm.charts import REPORTER, UMBRELLA

HEADING = "## Values\n"
_COMMENT = re.compile(r" *# -- (?P<text>.+)")
_KEY = re.compile(r"(?P<indent> *)(?P<key>[\w-]+):")


def leaves(values: dict[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    """Return each value by its path; an empty map is a value."""
    for key, value in values.items():
        full = f"{path}.{key}".removeprefix(".")
        if isinstance(value, dict) and value:
            yield from leaves(value, full)
        else:
            yield full, value


def comments(text: str) -> dict[str, str]:
    """Return the comment above each key, by its path."""
    found: dict[str, str] = {}
    path: list[str] = []
    comment = ""
    for line in text.splitlines():
        if match := _COMMENT.fullmatch(line):
            comment = match["text"]
        elif match := _KEY.match(line):
            path = [*path[: len(match["indent"]) // 2], match["key"]]
            if comment:
                found[".".join(path)] = comment
            comment = ""
    return found


def table(chart: Path) -> str:
    """Return the table of a chart; a value without a comment is a KeyError."""
    text = (chart / "values.yaml").read_text()
    said = comments(text)
    rows = [
        f"| `{path}` | `{json.dumps(value)}` | {said[path]} |"
        for path, value in leaves(yaml.safe_load(text))
    ]
    return "\n".join(["| value | default | |", "| --- | --- | --- |", *rows]) + "\n"


def readme(chart: Path) -> str:
    """Return the README with its table as it should be."""
    head, heading, _ = (chart / "README.md").read_text().partition(HEADING)
    return f"{head}{heading}\n{table(chart)}"


if __name__ == "__main__":
    for each in (REPORTER, UMBRELLA):
        (each / "README.md").write_text(readme(each))
