"""The rules of the chart's ClusterRole: what is listed, watched or looked up.

`make docs` writes them to the chart, a file for what is always read and one for each stack;
`make docs-check` holds them to the table.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Final

from reporter.catalogue.resources import ON_DEMAND, VOLUMES
from reporter.model.catalogue import Catalogue
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource

VERBS: Final = ("list", "watch")
"""What an informer asks for; it gets no single objects."""

ON_DEMAND_VERBS: Final = ("list",)
"""What is asked for of kinds that may explain something at fault; of volumes, each by its name."""

VOLUME_VERBS: Final = ("get",)

ALWAYS: Final = "always"
"""Name of the file with what is read whatever stacks there are."""

EVENT_VERBS: Final = ("list",)
"""What is asked for of Events of others, in one namespace and only while something there is at fault."""

_EVENTS: Final = (
    '- apiGroups: [""]',
    "  resources:",
    "    - events # what others say of what is at fault; listed then, never watched",
    f"  verbs: [{', '.join(EVENT_VERBS)}]",
)
_HEAD: Final = "# From reporter/catalogue/resources.py, by `make docs`.\n"


def cluster_role_rules(
    catalogue: Catalogue, stack: str, *, wide: bool = False, opt_in: str = ""
) -> str:
    """Return the rules for one stack, or for what is always read, as YAML.

    Args:
        catalogue: says what is read.
        stack: its name; empty for what is read whatever stacks there are.
        wide: what is read only where the stack is `on`, in place of the rest.
        opt_in: what is read only with this setting, in place of the rest.

    """
    always = {(each.group, each.plural) for each in catalogue.resources if not each.stack}
    resources = (
        each
        for each in catalogue.resources
        if each.stack == stack
        and (each.wide, each.opt_in) == (wide, opt_in)
        # RBAC knows no labels: what is read in any case needs no rule of its own.
        and (not stack or (each.group, each.plural) not in always)
    )
    lines = [*_lines(resources, VERBS)]
    if not stack:
        lists = (each for each in ON_DEMAND if each is not VOLUMES)
        lines += [*_lines([VOLUMES], VOLUME_VERBS), *_lines(lists, ON_DEMAND_VERBS), *_EVENTS]
    return _HEAD + "\n".join(lines) + "\n"


def files(catalogue: Catalogue) -> dict[str, str]:
    """Return all files by name."""
    stacks = ["", *(each.name for each in catalogue.stacks)]
    rules = {f"{each or ALWAYS}.yaml": cluster_role_rules(catalogue, each) for each in stacks}
    wide = {each.stack for each in catalogue.resources if each.wide}
    asked_for = {(each.stack, each.opt_in) for each in catalogue.resources if each.opt_in}
    rules |= {f"{each}-on.yaml": cluster_role_rules(catalogue, each, wide=True) for each in wide}
    return rules | {
        f"{opt_in.replace('_', '-')}.yaml": cluster_role_rules(catalogue, stack, opt_in=opt_in)
        for stack, opt_in in asked_for
    }


def _lines(resources: Iterable[Resource[KubeObject]], verbs: Iterable[str]) -> Iterable[str]:
    for group, members in groupby(resources, key=lambda resource: resource.group):
        yield f'- apiGroups: ["{group}"]'
        yield "  resources:"
        yield from (f"    - {each.plural} # {each.purpose}" for each in members)
        yield f"  verbs: [{', '.join(verbs)}]"
