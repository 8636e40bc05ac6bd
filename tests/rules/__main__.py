"""`make rules`: promtool reads what the chart renders, and judges `cases.yaml` by its rules.

The dashboard's expressions are read too, as if each was a rule.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.helm.dashboard import expressions
from tests.rules.cases import CASES, rendered, unit_tests
from tests.rules.tool import NoPromtoolError, promtool


def main() -> int:
    """Check the rules and run the cases; promtool's exit status, or 2 where there is none."""
    try:
        program = promtool()
    except NoPromtoolError as error:
        sys.stderr.write(f"rules: {error}\n")
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # JSON is YAML.
        (folder / "rules.yaml").write_text(json.dumps(rendered()))
        (folder / "tests.yaml").write_text(json.dumps(unit_tests("rules.yaml")))
        (folder / "dashboard.yaml").write_text(json.dumps(_dashboard()))
        for command in (
            ("check", "rules", "rules.yaml", "dashboard.yaml"),
            ("test", "rules", "tests.yaml"),
        ):
            status = subprocess.run([program, *command], cwd=folder, check=False).returncode
            if status:
                return status
    sys.stdout.write(f"{len(CASES)} cases\n")
    return 0


def _dashboard() -> dict[str, object]:
    rules = [
        {"record": f"panel:{number}", "expr": expression}
        for number, (_, expression) in enumerate(expressions())
    ]
    return {"groups": [{"name": "dashboard", "rules": rules}]}


if __name__ == "__main__":
    sys.exit(main())
