"""Evidence for clusterReady, and the layer as a whole."""

from reporter.catalogue.resources import DEPLOYMENTS
from reporter.model.finding import KnownSubject
from reporter.model.subject import CLUSTER
from reporter.probes.cluster import evaluate_cluster
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import scope
from tests.unit.probes.building import (
    ALL_CRDS,
    ALL_ON,
    FORBIDDEN,
    SHARED,
    deployment,
    healthy_cluster,
    snapshot_of,
)

DEFAULTS = FullEvaluationSettings(components=ALL_ON)


def evaluate(*docs, settings=DEFAULTS, **options):
    return evaluate_cluster(scope(snapshot_of(*docs, **options), settings))


def test_a_healthy_cluster_is_ready():
    """Everything configured works; the evidence refers to the release namespace."""
    evaluation = evaluate(*healthy_cluster())
    (ready,) = evaluation.ready
    assert evaluation.findings == ()
    assert evaluation.subjects == (KnownSubject(CLUSTER),)
    assert (ready.reason, str(ready.involved)) == ("clusterReady", "Namespace kube-system")
    assert "cluster layer is healthy" in ready.message


def test_the_release_namespace_is_a_setting():
    """Its Event belongs where the umbrella chart was installed."""
    settings = FullEvaluationSettings(release_namespace="keda")
    (ready,) = evaluate(*healthy_cluster(), settings=settings).ready
    assert (str(ready.involved), ready.involved.uid) == ("Namespace keda", "uid-keda")


def ready_with(name, *docs):
    """Whether the cluster is ready with these in place of a component."""
    return evaluate(*healthy_cluster(name), *docs).ready != ()


def test_not_ready_unless_each_component_is_available():
    """Missing, down and degraded are no evidence, and neither is a copy elsewhere."""
    assert [
        name
        for place, name in SHARED
        if ready_with(name)
        or ready_with(name, deployment(place, name, ready=0))
        or ready_with(name, deployment(place, name, ready=1, wanted=2))
        or ready_with(name, deployment("elsewhere", name))
    ] == []
    assert [name for place, name in SHARED if not ready_with(name, deployment(place, name))] == []


def test_not_ready_while_something_is_unknown():
    assert evaluate(*healthy_cluster(), unknown={DEPLOYMENTS: FORBIDDEN}).ready == ()
    assert evaluate(*healthy_cluster(), served=None).ready == ()
    places = {"istio-system"}
    assert evaluate(*healthy_cluster("keda-operator"), covered=places).ready == ()


def test_not_ready_without_a_required_crd():
    """Every required CRD is served; one of a component that is off need not be."""
    served = ALL_CRDS - {"apikeys.kaito.sh"}
    off = FullEvaluationSettings(gateway_auth_deployment="")
    assert evaluate(*healthy_cluster(), served=served).ready == ()
    assert evaluate(*healthy_cluster(), served=served, settings=off).ready != ()


def test_a_cluster_where_all_is_off_is_never_ready():
    """There is nothing that could be seen to work."""
    settings = FullEvaluationSettings(
        istiod_deployment="", kaito_deployment="", keda_namespace=(), bbr_deployment="",
        keda_scaler_deployment="", gateway_auth_deployment="",
    )  # fmt: skip
    assert evaluate(settings=settings).ready == ()
