"""Say what the tests in a browser still need; they install nothing themselves."""

import os
import shutil
import sys
from importlib.util import find_spec

NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """Return the path of a Chromium: of CHROMIUM, or the first on the PATH."""
    given = os.environ.get("CHROMIUM")
    names = (given,) if given else NAMES
    return next((path for path in map(shutil.which, names) if path), None)


def missing() -> list[str]:
    """Return what is not there, and how to get it."""
    found = []
    if not all(map(find_spec, ("playwright", "axe_playwright_python"))):
        found.append("playwright and axe: .venv/bin/uv pip install --group browser")
    if chromium() is None:
        found.append("Chromium: apt-get install chromium, or set CHROMIUM to the path of one")
    return found


def main() -> int:
    """Return 1 if anything is missing."""
    for each in missing():
        sys.stderr.write(f"missing: {each}\n")
    return 1 if missing() else 0


if __name__ == "__main__":
    sys.exit(main())
