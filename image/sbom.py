"""`python -m image.sbom FILE`: what the image adds to its base, as CycloneDX JSON.

The locked libraries are installed into a clean environment, because licences and who needs whom
are in the packages and not in the lock file. The same lock file gives the same bytes.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

from locks.pip import REQUIREMENTS, locked, pip
from reporter import __version__

Bill: TypeAlias = dict[str, Any]

_LOCKED = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>\S+)", re.MULTILINE)
_CYCLONEDX: Final = Path(sys.executable).with_name("cyclonedx-py")


class SbomError(Exception):
    """What was written is not a bill of what the image contains."""


def main() -> int:
    """Write the file that is named, once it is known to be right."""
    path = Path(sys.argv[1])
    with TemporaryDirectory() as folder:
        bill = describe(_install(Path(folder)))
    text = rendered(bill)
    validate(text, REQUIREMENTS.read_text(encoding="utf-8"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{path}: {len(bill['components'])} libraries, valid CycloneDX 1.6\n")
    return 0


def _install(folder: Path) -> Path:
    _run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    python = folder / "bin" / "python"
    pip("install", *locked(REQUIREMENTS), python=python)
    return python


def describe(python: Path, pyproject: Path = Path("pyproject.toml")) -> Bill:
    """Return the bill of what an environment has installed for the distribution of a pyproject.toml."""
    output = _run(
        str(_CYCLONEDX), "environment", "--pyproject", str(pyproject), "--spec-version", "1.6",
        "--output-reproducible", "--output-format", "JSON", str(python),
    )  # fmt: skip
    bill: Bill = json.loads(output)
    # The version is dynamic in pyproject.toml, where cyclonedx-py does not look for it.
    bill["metadata"]["component"]["version"] = __version__
    return bill


def rendered(bill: Bill) -> str:
    """Return a bill as it is written."""
    return json.dumps(bill, indent=2, sort_keys=True) + "\n"


def validate(text: str, lock: str) -> None:
    """Check a bill against the schema and against the lock file.

    Raises:
        SbomError: it does not fit one of them; says where.

    """
    # Not at the top: it takes seconds, as it builds the grammars of all formats of JSON Schema.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise SbomError(f"not CycloneDX 1.6: {error}")
    listed = {(_normal(c["name"]), c["version"]) for c in json.loads(text)["components"]}
    locked = {(_normal(found["name"]), found["version"]) for found in _LOCKED.finditer(lock)}
    if difference := listed ^ locked:
        raise SbomError(f"the bill and {REQUIREMENTS} differ in {sorted(difference)}")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603  # our own words


if __name__ == "__main__":
    sys.exit(main())
