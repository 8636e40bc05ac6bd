"""Components that a user declares, made a part of the catalogue."""

from reporter.catalogue.custom.extend import DAEMONSETS, STATEFULSETS, WORKLOADS, extended

__all__ = ["DAEMONSETS", "STATEFULSETS", "WORKLOADS", "extended"]
