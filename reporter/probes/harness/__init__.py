"""Probes of the harness layer; the subject is a workload namespace."""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Final

from reporter.catalogue.resources import NAMESPACES
from reporter.model.finding import Evaluation, KnownSubject
from reporter.model.objects import Namespace
from reporter.model.subject import Subject
from reporter.probes.harness.gateways import (
    probe_gateway_class,
    probe_gateway_data_plane,
    probe_gateway_programming,
    probe_harness_ready,
    probe_harness_serving,
)
from reporter.probes.harness.policies import (
    probe_api_keys,
    probe_catch_all_filter,
    probe_ext_authz,
    probe_network_policy,
)
from reporter.probes.reuse import Question
from reporter.probes.scope import NamespaceScope, Probe, Scope
from reporter.snapshot.trace import Cell, How
from reporter.workload.components import managed_namespaces

_PROBES: Final[tuple[Probe[NamespaceScope], ...]] = (
    probe_gateway_class,
    probe_gateway_programming,
    probe_gateway_data_plane,
    probe_ext_authz,
    probe_api_keys,
    probe_catch_all_filter,
    probe_network_policy,
)


class Namespaces:
    """What is asked about workload namespaces; one without the harness's label is no subject."""

    def questions(self, scope: Scope) -> Iterator[Question]:
        for namespace in managed_namespaces(scope.snapshot):
            yield Question(
                Subject.of_namespace(namespace.name),
                partial(_evaluate, namespace),
                rests_on=(Cell(NAMESPACES, How.NAME, ("", namespace.name)),),
            )


def _evaluate(namespace: Namespace, scope: Scope) -> Evaluation:
    return evaluate_namespace(NamespaceScope(**scope.basis, namespace=namespace))


def evaluate_namespace(scope: NamespaceScope) -> Evaluation:
    """Return all that is known of the entrance of one namespace."""
    subject = Subject.of_namespace(scope.namespace.name)
    return Evaluation(
        findings=tuple(chain.from_iterable(probe(scope) for probe in _PROBES)),
        ready=tuple(probe_harness_ready(scope)),
        subjects=(KnownSubject(subject, scope.namespace.created),),
        serving=tuple(probe_harness_serving(scope)),
    )
