"""The rules of the chart's ClusterRole: what is listed and watched over the whole cluster.

`make docs` writes them to the chart, `make docs-check` holds them to the table.
"""

import sys
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from reporter.catalogue.resources import CLUSTER_WIDE
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource

VERBS: Final = ("list", "watch")
"""What an informer asks for; it gets no single objects."""

_HEAD: Final = "# From reporter/catalogue/resources.py, by `make docs`.\n"


def cluster_role_rules(resources: Iterable[Resource[KubeObject]] = CLUSTER_WIDE) -> str:
    """Return the rules as YAML, one for each API group, with the purpose of each resource."""
    lines: list[str] = []
    for group, members in groupby(resources, key=lambda resource: resource.group):
        lines.append(f'- apiGroups: ["{group}"]')
        lines.append("  resources:")
        lines += [f"    - {each.plural} # {each.purpose}" for each in members]
        lines.append(f"  verbs: [{', '.join(VERBS)}]")
    return _HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(cluster_role_rules())
