"""Which Chromium the tests use: the machine's. None is ever downloaded."""

import os
import shutil
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = "install it (Debian: apt-get install chromium), or set CHROMIUM to the path of one"


class NoChromiumError(Exception):
    """There is no Chromium; the message says what to do."""


def chromium() -> str:
    """Return the path of CHROMIUM, or else of the first on the PATH.

    Raises:
        NoChromiumError: it is not there.

    """
    given = os.environ.get("CHROMIUM")
    names = (given,) if given else NAMES
    found = next((path for path in map(shutil.which, names) if path), None)
    if found is None:
        sought = f"CHROMIUM={given} is not a program" if given else "there is no Chromium on PATH"
        raise NoChromiumError(f"{sought}: {INSTALL}")
    return found


def launch_options() -> dict[str, object]:
    """Return what Playwright is given to start it; Chromium refuses to run its sandbox as root."""
    return {"executable_path": chromium(), "chromium_sandbox": os.geteuid() != 0}


def main() -> int:
    """Return 1, and say what to do, if there is none."""
    try:
        chromium()
    except NoChromiumError as error:
        sys.stderr.write(f"browser: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
