"""Files of the repository that are rendered from the tables: `python -m reporter.generated [--check]`.

Without a flag they are written. With `--check` each that is not what the tables say is named, with the
difference, and the exit status is 1.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from difflib import unified_diff
from pathlib import Path
from typing import Final

from reporter.catalogue import resources as rbac
from reporter.catalogue.render import reasons_page, stack_pages
from reporter.catalogue.render_needs import components_page, place_settings
from reporter.catalogue.render_runtime import runtime_page
from reporter.catalogue.render_schema import reason_names, reason_pages, values_schema
from reporter.catalogue.render_stacks import stacks_page
from reporter.diagnosis.signature_page import signature_page
from reporter.model.catalogue import Catalogue
from reporter.stacks import BUILT_IN
from reporter.stacks.settings import FullEvaluationSettings

CHART: Final = Path("helm/productionstack-status-reporter")

_PARTLY: Final[dict[Path, Callable[[str, Catalogue], str]]] = {
    Path("docs/components.md"): components_page,
    Path("docs/log-signatures.md"): lambda page, _: signature_page(page),
    Path("docs/runtime.md"): runtime_page,
    Path("docs/stacks.md"): stacks_page,
    CHART / "values.schema.json": values_schema,
}
"""Files that are written by hand but for the parts that these render."""


def rendered(root: Path, catalogue: Catalogue) -> Iterator[tuple[Path, str]]:
    """Yield each file, from the root of the repository, with the text that it should have."""
    yield Path("docs/reasons.md"), reasons_page(catalogue)
    for name, text in stack_pages(catalogue).items():
        yield Path("docs") / name, text
    for path, render in _PARTLY.items():
        yield path, render((root / path).read_text(encoding="utf-8"), catalogue)
    yield CHART / "files" / "reasons.yaml", reason_names(catalogue)
    yield CHART / "files" / "reason-pages.yaml", reason_pages(catalogue)
    yield CHART / "files" / "places.yaml", places(catalogue)
    for name, text in rbac.files(catalogue).items():
        yield CHART / "files" / "cluster-role" / name, text


def places(catalogue: Catalogue) -> str:
    """Return where the program looks for shared parts, by flag, so that the chart leaves that out.

    A name that is given counts as one that somebody chose.
    """
    fields = FullEvaluationSettings.model_fields
    values = {name: fields[name].default for name in place_settings(catalogue)}
    lines = (
        f"{name.replace('_', '-')}: "
        f"{json.dumps(','.join(value) if isinstance(value, tuple) else value)}\n"
        for name, value in values.items()
    )
    return "# From the defaults of the settings, by `make docs`.\n" + "".join(lines)


def outdated(root: Path, catalogue: Catalogue) -> Iterator[str]:
    """Yield the difference of each file that is not as it should be, and each that should not be."""
    wanted = dict(rendered(root, catalogue))
    for path, text in wanted.items():
        there = root / path
        before = there.read_text(encoding="utf-8") if there.exists() else ""
        if before != text:
            old, new = before.splitlines(keepends=True), text.splitlines(keepends=True)
            yield "".join(unified_diff(old, new, str(path), f"{path} as rendered"))
    for there in sorted((root / CHART / "files" / "cluster-role").iterdir()):
        if there.relative_to(root) not in wanted:
            yield f"{there.relative_to(root)} is of no stack\n"


def main(argv: list[str]) -> int:
    """Write the files of the current folder, or compare them."""
    parser = argparse.ArgumentParser(prog="python -m reporter.generated", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and compare")
    root = Path()
    if parser.parse_args(argv).check:
        differences = "".join(outdated(root, BUILT_IN))
        sys.stdout.write(differences)
        return 1 if differences else 0
    for path, text in rendered(root, BUILT_IN):
        (root / path).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
