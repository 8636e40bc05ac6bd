"""Objects that one tenant stores and that take many times their size in memory."""

import json
import tracemalloc

from reporter.catalogue.resources import ENVOYFILTERS, HTTPROUTES
from reporter.kube.decode import decode_page
from reporter.kube.store import Store
from reporter.stacks.kthena.reasons import CONTROLLERREVISIONS, MODELSERVINGS
from tests.attacks.attack import Outcome, attacks

_MOST = 48 * 2**20
"""Bytes that may stay of them in memory: the chart's limit is 320 MiB, and the reporter itself takes 100."""

_TREE = "[" + ",".join(["[[],{}]"] * 180_000) + "]"
_TEMPLATE = f'{{"spec": {{"containers": [], "x": {_TREE}}}}}'
_ROLES = f'[{{"name": "r", "entryTemplate": {_TEMPLATE}}}]'


@attacks(
    {
        "EnvoyFilters of empty lists": (ENVOYFILTERS, 10, f'"spec": {{"configPatches": {_TREE}}}'),
        "ControllerRevisions of empty lists": (CONTROLLERREVISIONS, 10, f'"data": {{"data": {_ROLES}}}'),
        "ModelServings of empty lists": (MODELSERVINGS, 10, f'"spec": {{"template": {{"roles": {_ROLES}}}}}'),
        "HTTPRoutes of empty rules": (HTTPROUTES, 12, '"spec": {"rules": [' + ",".join(["{}"] * 50_000) + "]}"),
    },
    quick=False,
)  # fmt: skip
def _(_folder, row):
    resource, count, content = row
    store = Store(resource)
    tracemalloc.start()
    try:
        for number in range(count):
            metadata = {"name": f"o-{number}", "namespace": "tenant"}
            item = f'{{"metadata": {json.dumps(metadata)}, {content}}}'
            page = f'{{"kind": "List", "metadata": {{"resourceVersion": "1"}}, "items": [{item}]}}'
            objects, left_out = store.known(decode_page(resource, page.encode()).objects)
            store.replace(
                {**store.objects, **objects},
                {**store.skipped, **{(e.namespace, e.name): e for e in left_out}},
            )
            del objects, left_out, item, page
        kept, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    stored = count * len(content)
    figure = (
        f"{stored / 2**20:.1f} MiB stored, {kept / 2**20:.1f} MiB kept, "
        f"{len(store.skipped)} of {count} left out and said so"
    )
    return Outcome(held=kept < _MOST, figure=figure)
