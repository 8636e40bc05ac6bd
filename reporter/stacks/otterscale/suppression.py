"""What hides reasons of ModelServices, and why that is no mere correlation."""

from typing import Final

from reporter.catalogue import resources as r
from reporter.catalogue.suppression import missing_kind, on_a_node, seen_on_objects
from reporter.model.reason import SuppressionRow
from reporter.stacks.otterscale.reasons import (
    CLUSTER_OTTERSCALE,
    EPP,
    NEEDS_OPERATOR,
    PODS,
    REASONS,
    RECONCILE_FAILED,
    ROUTE,
)
from reporter.stacks.otterscale.resources import MODELSERVICES, PODMONITORS, SERVICEMONITORS

SUPPRESSION: Final[tuple[SuppressionRow, ...]] = (
    on_a_node(CLUSTER_OTTERSCALE, PODS, EPP),
    SuppressionRow(
        CLUSTER_OTTERSCALE,
        NEEDS_OPERATOR,
        "the model operator creates the objects of ModelServices and writes their status",
    ),
    missing_kind(MODELSERVICES, *seen_on_objects(REASONS)),
    missing_kind(r.GATEWAYS, ROUTE, why="no route can have a parent while no Gateway can exist"),
    missing_kind(r.HTTPROUTES, ROUTE),
    missing_kind(r.INFERENCEPOOLS, ROUTE),
    *(
        missing_kind(each, RECONCILE_FAILED, why=f"the operator cannot make {each.kind}s")
        for each in (PODMONITORS, SERVICEMONITORS)
    ),
)
