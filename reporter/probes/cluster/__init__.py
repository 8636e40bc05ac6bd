"""Probes of the shared control plane; the subject is the cluster."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from reporter.catalogue import reasons
from reporter.model.finding import Evaluation, KnownSubject
from reporter.model.subject import CLUSTER
from reporter.probes.cluster import parts
from reporter.probes.cluster.blindness import probe_unknown_resources
from reporter.probes.reuse import Question
from reporter.probes.scope import ComponentScope, Scope, contained, contained_probe, joined
from reporter.probes.subjects import ClusterProbe
from reporter.workload.components import components

_PROBES: Final = (
    ClusterProbe(reasons.CLUSTER_CRD_MISSING, "CustomResourceDefinitions", parts.probe_crds),
    ClusterProbe(reasons.CLUSTER_GATEWAY_AUTH, "MeshConfig", parts.probe_mesh_provider),
    ClusterProbe(reasons.CLUSTER_STATUS_UNKNOWN, "resources", probe_unknown_resources),
)


def evaluate_cluster(scope: Scope, more: Iterable[ClusterProbe] = ()) -> Evaluation:
    """Return the evaluation of the cluster layer; `more` are the probes of stacks.

    If a probe failed, the evidence of Ready is not evaluated: it would usually fail too.
    """
    found = [Evaluation((), (), (KnownSubject(CLUSTER),)), *_judged(scope, (*_PROBES, *more))]
    if not any(each.unjudged for each in found):
        found.append(
            contained(
                lambda: Evaluation((), tuple(parts.probe_cluster_ready(scope)), ()),
                CLUSTER,
                reason=reasons.CLUSTER_READY,
                probe="evidence",
            )
        )
    return joined(found)


@dataclass(frozen=True, slots=True)
class ClusterLayer:
    """The cluster as one question; `more` are the probes of stacks."""

    more: tuple[ClusterProbe, ...] = ()

    def questions(self, _scope: Scope) -> Iterator[Question]:
        yield Question(CLUSTER, partial(evaluate_cluster, more=self.more))


def _judged(scope: Scope, probes: Iterable[ClusterProbe]) -> Iterator[Evaluation]:
    for each in probes:
        yield contained_probe(each.reason, each.name, partial(each.probe, scope))
    for component in components(scope.settings):
        name = f"Deployment {component.deployment}"
        of_component = ComponentScope(**scope.basis, component=component)
        yield contained_probe(component.reason, name, partial(parts.probe_component, of_component))
