"""`python -m tools.phrases`: finds phrases that an operator would not say, in docs, code, chart and tests.

It fails if there are any. CONTRIBUTING lists them with replacements. Texts by others (incidents, their CRDs) are left out.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]

PHRASES: Final = {
    "anew": "again",
    "be it": "even",
    "besides": "in addition to, apart from, other than",
    "merely": "only",
    "asked for once too often": "asked for too many times",
    "less important here than": "outranked by",
    "missed where": "expected when",
    "no model is known": "no models affected so far",
    "way of requests": "request path",
}
"""Phrases to avoid, and what to write instead."""

IN_PAGES: Final = {
    "rest on": "depend on",
    "rests on": "depends on",
    "told apart": "distinguished, listed separately",
}
"""The same, only for pages."""

_FOUND: Final = re.compile(rf"\b({'|'.join(PHRASES)})\b", re.IGNORECASE)
_IN_PAGES: Final = re.compile(rf"\b({'|'.join(PHRASES | IN_PAGES)})\b", re.IGNORECASE)
_ELSEWHERE: Final = frozenset({"CHANGELOG.md", "CONTRIBUTING.md", "tools/phrases.py"})
_TEXT: Final = frozenset({".css", ".html", ".js", ".md", ".mk", ".py", ".tpl", ".txt", ".yaml"})
_QUOTED: Final = ("tests/incidents/", "helm/productionstack-status-reporter/files/crds/")


def main() -> int:
    """Print each place; return 1 if there are any."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607  # git may be anywhere
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    count = 0
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if name in _ELSEWHERE or name.startswith(_QUOTED) or path.suffix not in _TEXT:
            continue
        if not path.is_file():
            continue
        sought = _IN_PAGES if path.suffix == ".md" else _FOUND
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for found in sought.finditer(line):
                phrase = found[0].lower()
                instead = (PHRASES | IN_PAGES)[phrase]
                sys.stdout.write(f"{name}:{number}: {phrase!r}: {instead}\n")
                count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
