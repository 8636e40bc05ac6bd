"""Probes of the harness layer; the subject is a workload namespace."""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Final

from reporter.catalogue.resources import NAMESPACES
from reporter.model.finding import Evaluation, KnownSubject
from reporter.model.objects import Namespace
from reporter.model.subject import Subject
from reporter.probes.harness import gateways, policies
from reporter.probes.reuse import Question
from reporter.probes.scope import NamespaceScope, Probe, Scope
from reporter.snapshot.trace import Cell, How
from reporter.workload.components import managed_namespaces

_PROBES: Final[tuple[Probe[NamespaceScope], ...]] = (
    gateways.probe_gateway_class, gateways.probe_gateway_programming,
    gateways.probe_gateway_data_plane, policies.probe_ext_authz, policies.probe_api_keys,
    policies.probe_catch_all_filter, policies.probe_network_policy,
)  # fmt: skip


class Namespaces:
    """The questions about workload namespaces, those with the harness's label."""

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
    subject = Subject.of_namespace(scope.namespace.name)
    return Evaluation(
        findings=tuple(chain.from_iterable(probe(scope) for probe in _PROBES)),
        ready=tuple(gateways.probe_harness_ready(scope)),
        subjects=(KnownSubject(subject, scope.namespace.created),),
        serving=tuple(gateways.probe_harness_serving(scope)),
    )
