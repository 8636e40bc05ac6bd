"""Components that a user declares, made a part of the catalogue."""

from reporter.catalogue.custom.extend import DAEMONSETS, WORKLOADS, extended
from reporter.catalogue.resources import STATEFULSETS

__all__ = ["DAEMONSETS", "STATEFULSETS", "WORKLOADS", "extended"]
