"""A client of a scripted API server, as the tests of the client have it."""

from tests.unit.kube.conftest import client_for, no_cluster_around

__all__ = ["client_for", "no_cluster_around"]
