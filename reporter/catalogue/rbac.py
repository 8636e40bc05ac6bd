"""The rules of the chart's ClusterRole: what is listed and watched over the whole cluster.

`make docs` writes them to the chart, a file for what is always read and one for each stack;
`make docs-check` holds them to the table.
"""

import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Final

from reporter.catalogue.resources import CLUSTER_WIDE
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.model.stack import Stack

VERBS: Final = ("list", "watch")
"""What an informer asks for; it gets no single objects."""

ALWAYS: Final = "always"
"""Name of the file with what is read whatever stacks there are."""

_HEAD: Final = "# From reporter/catalogue/resources.py, by `make docs`.\n"


def cluster_role_rules(stack: Stack | None, *, wide: bool = False) -> str:
    """Return the rules for one stack, or for what is always read, as YAML.

    Args:
        stack: which; None for what is read whatever stacks there are.
        wide: what is read only where the stack is `on`, in place of the rest.

    """
    resources = (each for each in CLUSTER_WIDE if each.stack is stack and each.wide is wide)
    return _HEAD + "\n".join(_lines(resources)) + "\n"


def files() -> dict[str, str]:
    """Return all files by name."""
    stacks: tuple[Stack | None, ...] = (None, *Stack)
    rules = {f"{stack or ALWAYS}.yaml": cluster_role_rules(stack) for stack in stacks}
    wide = {each.stack for each in CLUSTER_WIDE if each.wide}
    return rules | {f"{each}-on.yaml": cluster_role_rules(each, wide=True) for each in wide}


def _lines(resources: Iterable[Resource[KubeObject]]) -> Iterable[str]:
    for group, members in groupby(resources, key=lambda resource: resource.group):
        yield f'- apiGroups: ["{group}"]'
        yield "  resources:"
        yield from (f"    - {each.plural} # {each.purpose}" for each in members)
        yield f"  verbs: [{', '.join(VERBS)}]"


if __name__ == "__main__":
    for name, text in files().items():
        Path(sys.argv[1], name).write_text(text)
