"""Where actionlint comes from.

`ACTIONLINT` names one; else it is built from the Go module beside this file, once per machine and
content of that module. The machine's own is not taken: another release has other rules.
"""

import os
import shutil
from pathlib import Path

from tests.go_programs import NotBuiltError, built

MODULE = Path(__file__).parent / "actionlint"
PACKAGE = "github.com/rhysd/actionlint/cmd/actionlint"


class NoActionlintError(Exception):
    """There is no actionlint, and none could be built; the message says what to do."""


def actionlint() -> Path:
    """Return the program, building it where it is missing."""
    named = os.environ.get("ACTIONLINT")
    if not named:
        try:
            return built(MODULE, PACKAGE)
        except NotBuiltError as error:
            raise NoActionlintError(f"no actionlint; name one with ACTIONLINT: {error}") from None
    found = shutil.which(named)
    if found is None:
        raise NoActionlintError(f"ACTIONLINT={named} is no program: name one, or unset it")
    return Path(found)
