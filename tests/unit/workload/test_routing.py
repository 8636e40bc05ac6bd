"""Which Gateways requests of a route come through."""

import msgspec
import pytest

from reporter.model.objects import HttpRoute
from reporter.workload.routing import entrances_of
from tests.unit.probes.building import condition, document

FOREIGN = {"name": "gw", "namespace": "infra"}


@pytest.mark.parametrize(
    ("named", "said", "expected"),
    [
        (FOREIGN, None, set()),
        (FOREIGN, "False", set()),
        (FOREIGN, "True", {("infra", "gw")}),
        ({"name": "gw"}, None, {("tenant", "gw")}),
        ({"name": "mesh", "kind": "Service"}, None, set()),
    ],
    ids=["never accepted", "refused", "accepted", "of its own namespace", "a mesh"],
)
def test_a_foreign_gateway_has_to_accept_a_route(named, said, expected):
    """Forty routes that name it and were never accepted are none of its models."""
    says = {"parentRef": named, "conditions": [condition("Accepted", said or "")]}
    status = {"parents": [says] if said else []}
    route = document(
        "HTTPRoute", "r", "tenant", {"spec": {"parentRefs": [named]}, "status": status}
    )
    assert entrances_of([msgspec.convert(route, HttpRoute)]) == expected
