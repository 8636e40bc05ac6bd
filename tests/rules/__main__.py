"""`make rules`: promtool reads what the chart renders, and judges `cases.yaml` by its rules.

The dashboard's expressions are read too, as if each was a rule. Amtool reads the recipe for
Alertmanager, and says to whom alerts go by it.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.helm.dashboard import expressions
from tests.rules.cases import CASES, SERVED, hourly_tests, rendered, unit_tests
from tests.rules.recipes import ALERTMANAGER, ROUTES
from tests.rules.tool import NoPromtoolError, amtool, promtool


def main() -> int:
    """Check rules, cases and routes; the exit status of what failed, or 2 where a program is missing."""
    try:
        program, router = promtool(), amtool()
    except NoPromtoolError as error:
        sys.stderr.write(f"rules: {error}\n")
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # JSON is YAML.
        (folder / "rules.yaml").write_text(json.dumps(rendered()))
        (folder / "tests.yaml").write_text(json.dumps(unit_tests("rules.yaml")))
        (folder / "hourly.yaml").write_text(json.dumps(hourly_tests("rules.yaml")))
        (folder / "dashboard.yaml").write_text(json.dumps(_dashboard()))
        for command in (
            ("check", "rules", "rules.yaml", "dashboard.yaml"),
            ("test", "rules", "tests.yaml", "hourly.yaml"),
        ):
            status = subprocess.run([program, *command], cwd=folder, check=False).returncode
            if status:
                return status
    sys.stdout.write(f"{len(CASES) + len(SERVED)} cases\n")
    return _routes(router)


def _routes(program: Path) -> int:
    """Ask amtool to whom each alert goes."""
    checked = subprocess.run([program, "check-config", ALERTMANAGER], check=False)
    if checked.returncode:
        return checked.returncode
    for row in ROUTES:
        labels = [f"{name}={value}" for name, value in row["labels"].items()]
        command = ["config", "routes", "test", f"--config.file={ALERTMANAGER}"]
        done = subprocess.run(
            [program, *command, *labels], capture_output=True, text=True, check=False
        )
        if done.stdout.strip() != row["to"]:
            told = f"{done.stdout}{done.stderr}".strip()
            sys.stdout.write(f"not to {row['to']} but to {told}: {row['labels']}\n")
            return 1
    sys.stdout.write(f"{len(ROUTES)} routes\n")
    return 0


def _dashboard() -> dict[str, object]:
    rules = [
        {"record": f"panel:{number}", "expr": expression}
        for number, (_, expression) in enumerate(expressions())
    ]
    return {"groups": [{"name": "dashboard", "rules": rules}]}


if __name__ == "__main__":
    sys.exit(main())
