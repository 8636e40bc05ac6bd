"""The commit of this program."""

import subprocess
from importlib import import_module
from pathlib import Path

_GIT_SECONDS = 5


def commit() -> str:
    """Return the commit that it was built from, or `unknown`.

    An image has `reporter/_build.py` with `COMMIT`; in a checkout, git is asked.
    """
    try:
        return str(import_module("reporter._build").COMMIT)
    except (ImportError, AttributeError):
        return _checked_out()


def _checked_out() -> str:
    root = Path(__file__).parent.parent
    if not (root / ".git").exists():
        return "unknown"
    command = ("git", "-C", str(root), "rev-parse", "--short=12", "HEAD")
    try:
        answer = subprocess.run(  # noqa: S603  # fixed words and our own folder
            command, capture_output=True, check=True, text=True, timeout=_GIT_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return answer.stdout.strip() or "unknown"
