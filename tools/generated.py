"""Files of the repository that are rendered from the tables: `python -m tools.generated [--check]`.

Without a flag they are written. With `--check` the differences to the tables are printed, and the exit
status is 1 if there are any.
"""

import argparse
import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from difflib import unified_diff
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Final

from reporter.catalogue.custom.checks import MOST_LETTERS
from reporter.catalogue.custom.extend import prefixes_of
from reporter.catalogue.resources import (
    BY_NAME,
    BY_NAME_VERBS,
    EVENT_VERBS,
    LEASES,
    ON_DEMAND,
    ON_DEMAND_VERBS,
    VERBS,
    VOLUMES,
)
from reporter.catalogue.runtime import THRESHOLDS
from reporter.catalogue.shared_parts import shared_parts
from reporter.model.catalogue import Catalogue
from reporter.model.objects import KubeObject
from reporter.model.reason import Threshold
from reporter.model.resource import Resource
from reporter.model.subject import Layer
from reporter.setting_types import BUDGETS
from reporter.stacks import BUILT_IN
from reporter.stacks.settings import FullEvaluationSettings
from tools.pages import (
    compatibility_page,
    components_page,
    reasons_page,
    runtime_page,
    stacks_page,
)

CHART: Final = Path("helm/productionstack-status-reporter")


def place_settings(catalogue: Catalogue) -> tuple[str, ...]:
    """Return the settings with names and namespaces of the Deployments of shared parts."""
    names = (
        name
        for part in shared_parts(catalogue)
        for each in part.controllers
        for name in (each.namespaces, each.else_namespaces, each.deployment)
    )
    return tuple(dict.fromkeys(filter(None, names)))


def values_schema(text: str, catalogue: Catalogue) -> str:
    """Return the chart's schema with names and limits from the catalogue."""
    schema: dict[str, Any] = json.loads(text)
    definitions, properties = schema["definitions"], schema["properties"]
    definitions["reason"]["enum"] = [reason.name for reason in catalogue]
    definitions["gracedReason"]["enum"] = [
        reason.name
        for reason in catalogue
        if reason.window_seconds is None or reason.of == catalogue.metrics_kind
    ] + list(BUDGETS)
    definitions["customReason"] = {
        "type": "string",
        "maxLength": MOST_LETTERS,
        "pattern": f"^({'|'.join(_prefixes(catalogue))})[A-Z][A-Za-z0-9]*$",
    }
    mode = {"$ref": "#/definitions/stackMode"}
    properties["stacks"]["properties"] = {each.name: mode for each in catalogue.stacks}
    place = {"$ref": "#/definitions/modeOrPlace"}
    properties["components"]["properties"] = {
        each.name: place if each.controllers[0].home else mode for each in shared_parts(catalogue)
    }
    properties["runtime"]["properties"]["thresholds"]["properties"] = {
        name: _limits(threshold) for name, threshold in THRESHOLDS.items()
    }
    return json.dumps(schema, indent=2) + "\n"


def _prefixes(catalogue: Catalogue) -> list[str]:
    return [prefix for layer in Layer for prefix in prefixes_of(layer, catalogue)]


def reason_names(catalogue: Catalogue) -> str:
    """Return the names of all reasons as a YAML list, for the chart's own checks."""
    return "# From reporter/catalogue/reasons.py, by `make docs`.\n" + "".join(
        f"- {reason.name}\n" for reason in catalogue
    )


def _limits(threshold: Threshold) -> dict[str, object]:
    most = int(threshold.most) if threshold.most == int(threshold.most) else threshold.most
    return {"type": "number", "minimum": 0, "maximum": most}


ALWAYS: Final = "always"
"""Name of the file with the rules that do not depend on stacks."""

_EVENTS: Final = (
    '- apiGroups: [""]',
    "  resources:",
    "    - events # others' Events about objects at fault; listed on demand, never watched",
    f"  verbs: [{', '.join(EVENT_VERBS)}]",
)
_HEAD: Final = "# From reporter/catalogue/resources.py, by `make docs`.\n"


def cluster_role_rules(
    catalogue: Catalogue, stack: str, *, wide: bool = False, opt_in: str = ""
) -> str:
    """Return the rules for one stack, or for what is always read, as YAML.

    Args:
        catalogue: has the resources that are read.
        stack: name of the stack; empty for what is always read.
        wide: return only the rules for resources that are read if the stack is `on`.
        opt_in: return only the rules for resources that are read with this setting.

    """
    always = {(each.group, each.plural) for each in catalogue.resources if not each.stack}
    resources = (
        each
        for each in catalogue.resources
        if each.stack == stack
        and (each.wide, each.opt_in) == (wide, opt_in)
        # RBAC has no label selectors: a resource that is always read needs no second rule.
        and (not stack or (each.group, each.plural) not in always)
    )
    lines = [*_rules(resources, VERBS)]
    if not stack:
        lists = (each for each in ON_DEMAND if each not in BY_NAME)
        controllers = chain.from_iterable(each.controllers for each in shared_parts(catalogue))
        leases = sorted(chain.from_iterable(each.leases for each in controllers))
        lines += [*_rules([VOLUMES], BY_NAME_VERBS), *_rules(lists, ON_DEMAND_VERBS), *_EVENTS]
        lines += _rules([LEASES], BY_NAME_VERBS, names=leases)
    return _HEAD + "\n".join(lines) + "\n"


def cluster_role_files(catalogue: Catalogue) -> dict[str, str]:
    """Return the text of each file with rules, by name."""
    stacks = ["", *(each.name for each in catalogue.stacks)]
    rules = {f"{each or ALWAYS}.yaml": cluster_role_rules(catalogue, each) for each in stacks}
    wide = {each.stack for each in catalogue.resources if each.wide}
    asked_for = {(each.stack, each.opt_in) for each in catalogue.resources if each.opt_in}
    rules |= {f"{each}-on.yaml": cluster_role_rules(catalogue, each, wide=True) for each in wide}
    return rules | {
        f"{opt_in.replace('_', '-')}.yaml": cluster_role_rules(catalogue, stack, opt_in=opt_in)
        for stack, opt_in in asked_for
    }


def _rules(
    resources: Iterable[Resource[KubeObject]], verbs: Iterable[str], names: Collection[str] = ()
) -> Iterable[str]:
    for group, members in groupby(resources, key=lambda resource: resource.group):
        yield f'- apiGroups: ["{group}"]'
        yield "  resources:"
        yield from (f"    - {each.plural} # {each.purpose}" for each in members)
        if names:
            yield "  resourceNames:"
            yield from (f"    - {each}" for each in names)
        yield f"  verbs: [{', '.join(verbs)}]"


_PARTLY: Final[dict[Path, Callable[[str, Catalogue], str]]] = {
    Path("docs/compatibility.md"): compatibility_page,
    Path("docs/components.md"): components_page,
    Path("docs/runtime.md"): runtime_page,
    Path("docs/stacks.md"): stacks_page,
    CHART / "values.schema.json": values_schema,
}
"""Files that are written by hand, except the parts that these functions render."""


def rendered(root: Path, catalogue: Catalogue) -> Iterator[tuple[Path, str]]:
    """Yield the path of each file, relative to the repository, and the text that it should have."""
    yield Path("docs/reasons.md"), reasons_page(catalogue)
    for path, render in _PARTLY.items():
        yield path, render((root / path).read_text(encoding="utf-8"), catalogue)
    yield CHART / "files" / "reasons.yaml", reason_names(catalogue)
    yield CHART / "files" / "places.yaml", places(catalogue)
    for name, text in cluster_role_files(catalogue).items():
        yield CHART / "files" / "cluster-role" / name, text


def places(catalogue: Catalogue) -> str:
    """Return the default places of shared parts, by flag, so that the chart leaves these flags out.

    A place that is given counts as chosen by the user, so that the part is expected.
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
    """Yield the difference of each outdated file, and the name of each file that should not exist."""
    wanted = dict(rendered(root, catalogue))
    for path, text in wanted.items():
        there = root / path
        before = there.read_text(encoding="utf-8") if there.exists() else ""
        if before != text:
            old, new = before.splitlines(keepends=True), text.splitlines(keepends=True)
            yield "".join(unified_diff(old, new, str(path), f"{path} as rendered"))
    for there in sorted((root / CHART / "files" / "cluster-role").iterdir()):
        if there.relative_to(root) not in wanted:
            yield f"{there.relative_to(root)} belongs to no stack\n"


def main(argv: list[str]) -> int:
    """Write the files in the current folder, or compare them."""
    parser = argparse.ArgumentParser(prog="python -m tools.generated", description=__doc__)
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
