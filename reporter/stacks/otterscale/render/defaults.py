"""Defaults of the API server that `kubectl apply --server-side` has to be told.

Server-side apply compares some fields as a whole. Where the operator made an object, the API server has
filled in defaults there; a manifest without them says another value and is refused as a conflict
(Kubernetes documentation, "Server-Side Apply", merge strategy). The object is the same either way.
"""

from collections.abc import Mapping
from typing import Final

_ROUTE: Final = "HTTPRoute"
_OF_ROUTES: Final[Mapping[str, dict[str, object]]] = {
    "parentRefs": {"group": "gateway.networking.k8s.io", "kind": "Gateway"},
    "backendRefs": {"weight": 1},
}
"""Of entries of these lists (Gateway API, apis/v1/shared_types.go)."""

_VERSION: Final = {"apiVersion": "v1"}


def with_defaults(document: Mapping[str, object]) -> dict[str, object]:
    """Return a manifest with the defaults of those fields."""
    is_route = document["kind"] == _ROUTE
    return {key: _filled(each, key, is_route=is_route) for key, each in document.items()}


def _filled(value: object, key: str, *, is_route: bool) -> object:
    if isinstance(value, Mapping):
        filled = {name: _filled(each, name, is_route=is_route) for name, each in value.items()}
        return {**_VERSION, **filled} if key == "fieldRef" else filled
    if isinstance(value, list | tuple):
        filled_items = [_filled(each, "", is_route=is_route) for each in value]
        defaults = _OF_ROUTES.get(key) if is_route else None
        if defaults is None:
            return filled_items
        return [{**defaults, **each} if isinstance(each, dict) else each for each in filled_items]
    return value
