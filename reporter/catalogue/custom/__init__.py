"""Adds the components that a user declares to the catalogue."""

from reporter.catalogue.custom.extend import DAEMONSETS, WORKLOADS, extended
from reporter.catalogue.resources import STATEFULSETS

__all__ = ["DAEMONSETS", "STATEFULSETS", "WORKLOADS", "extended"]
