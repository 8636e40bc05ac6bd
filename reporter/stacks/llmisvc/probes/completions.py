"""Which way requests for completions take.

The route that KServe makes sends the paths of completions to the InferencePool and all else, such as
`/v1/models`, to the Service of the pods; older releases send all to the pool
(github.com/kserve/kserve, config/llmisvcconfig/config-llm-router-route.yaml). That a model can be listed
says nothing of completions.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from reporter.catalogue.resources import INFERENCEPOOLS
from reporter.model.objects import HttpRoute
from reporter.model.objects.gateway import RouteRule

_COMPLETIONS: Final = "completions"


def avoids_pools(routes: Iterable[HttpRoute]) -> bool:
    """Tell whether completions have a way to the pods that leads through no InferencePool."""
    return any(
        backend.kind != INFERENCEPOOLS.kind
        for route in routes
        for rule in _with_completions(route)
        for backend in rule.backend_refs or ()
    )


def _with_completions(route: HttpRoute) -> Iterator[RouteRule]:
    """Yield the rules of a route for completions: those with such a path come before all others."""
    rules = route.spec.rules or ()
    named = [each for each in rules if any(_COMPLETIONS in path for path in _paths(each))]
    yield from named or rules


def _paths(rule: RouteRule) -> Iterator[str]:
    for match in rule.matches or ():
        if match.path is not None:
            yield match.path.value
