"""Probes of the harness layer; the subject is a workload namespace."""

from collections.abc import Sequence
from typing import Final

from reporter.model.finding import Evaluation, KnownSubject
from reporter.model.objects import Namespace
from reporter.model.subject import Subject
from reporter.probes.harness.api_keys import probe_api_keys
from reporter.probes.harness.catch_all_filter import probe_catch_all_filter
from reporter.probes.harness.ext_authz import probe_ext_authz
from reporter.probes.harness.gateway_class import probe_gateway_class
from reporter.probes.harness.gateway_data_plane import probe_gateway_data_plane
from reporter.probes.harness.gateway_programming import probe_gateway_programming
from reporter.probes.harness.network_policy import probe_network_policy
from reporter.probes.harness.ready import probe_harness_ready
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.workload.namespaces import managed_namespaces

_PROBES: Final = (
    probe_gateway_class,
    probe_gateway_programming,
    probe_gateway_data_plane,
    probe_ext_authz,
    probe_api_keys,
    probe_catch_all_filter,
    probe_network_policy,
)


def evaluate_harness(
    snapshot: Snapshot,
    settings: EvaluationSettings,
    namespaces: Sequence[Namespace] | None = None,
) -> Evaluation:
    """Return all that is known of the harness layer, in `namespaces` or all workload namespaces.

    A namespace without the label of the harness, or on its way out, is no subject.
    """
    if namespaces is None:
        namespaces = managed_namespaces(snapshot)
    return Evaluation(
        findings=tuple(
            finding
            for namespace in namespaces
            for probe in _PROBES
            for finding in probe(snapshot, settings, namespace)
        ),
        ready=tuple(
            evidence
            for namespace in namespaces
            for evidence in probe_harness_ready(snapshot, settings, namespace)
        ),
        subjects=tuple(
            KnownSubject(Subject.of_namespace(namespace.name), namespace.created)
            for namespace in namespaces
        ),
    )
