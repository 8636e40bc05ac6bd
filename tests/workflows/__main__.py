"""`make workflow-lint`: actionlint reads the workflows of .github."""

import subprocess
import sys
from pathlib import Path

from tests.workflows.tool import NoActionlintError, actionlint

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def main() -> int:
    """Return actionlint's exit status, or 2 where there is none.

    What it would ask of shellcheck and pyflakes depends on the machine, so it asks neither.
    """
    try:
        program = actionlint()
    except NoActionlintError as error:
        sys.stderr.write(f"workflow-lint: {error}\n")
        return 2
    command = [program, "-shellcheck=", "-pyflakes=", *WORKFLOWS]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
