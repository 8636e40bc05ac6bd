"""ScaledObjects that KEDA rejected."""

import pytest

from reporter.catalogue.resources import SCALEDOBJECTS
from reporter.stacks.kaito.probes.scaling import probe_scaled_objects
from reporter.stacks.kaito.reasons import INFERENCESETS
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.asking import scope
from tests.unit.probes.building import (
    CREATED_AT,
    DELETING,
    FORBIDDEN,
    SINCE_AT,
    condition,
    document,
    healthy_cluster,
    merged,
    namespace,
    snapshot_of,
)

DEFAULTS = FullEvaluationSettings()
REJECTED = condition("Ready", "False", "ScaledObjectCheckFailed", "failed to ensure HPA")
READY = condition("Ready", "True", "ScaledObjectReady")
SET = document("InferenceSet", "qwen", "my-models", {"spec": {"replicas": 1}})


def scaled(*conditions, name="qwen"):
    return document("ScaledObject", name, "my-models", {"status": {"conditions": list(conditions)}})


def probe(*docs, settings=DEFAULTS, **options):
    base = [*healthy_cluster(), namespace("my-models", managed=True)]
    return list(probe_scaled_objects(scope(snapshot_of(*base, *docs, **options), settings)))


def test_rejected():
    """Ready=False of an InferenceSet's ScaledObject is told about the scaler's namespace."""
    (finding,) = probe(SET, scaled(REJECTED))
    assert finding.reason == "clusterKedaKaitoScalerNotReady"
    assert str(finding.involved) == "Namespace keda"
    assert str(finding.related) == "ScaledObject my-models/qwen"
    assert finding.message == (
        "ScaledObject my-models/qwen was rejected by KEDA: "
        "ScaledObjectCheckFailed: failed to ensure HPA"
    )
    assert (finding.transition, finding.created) == (SINCE_AT, CREATED_AT)
    assert not finding.governs


SILENT = {
    "accepted": [SET, scaled(READY)],
    "no conditions yet": [SET, scaled()],
    "not judged yet": [SET, scaled(condition("Ready", "Unknown"))],
    "inactive": [SET, scaled(READY, condition("Active", "False", "ScalerNotActive"))],
    "in fallback": [SET, scaled(READY, condition("Fallback", "True"))],
    "paused": [SET, scaled(REJECTED, condition("Paused", "True", "ScaledObjectPaused"))],
    "being deleted": [SET, merged(scaled(REJECTED), DELETING)],
    "of an InferenceSet that is being deleted": [merged(SET, DELETING), scaled(REJECTED)],
    "somebody else's": [SET, scaled(REJECTED, name="web")],
    "in a namespace that is not managed": [
        merged(SET, {"metadata": {"namespace": "keda"}}),
        merged(scaled(REJECTED), {"metadata": {"namespace": "keda"}}),
    ],
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    """What is normal, on its way out, or not the scaler's raises nothing."""
    assert probe(*SILENT[name]) == []


@pytest.mark.parametrize("resource", [INFERENCESETS, SCALEDOBJECTS])
def test_unknown(resource):
    """Whose ScaledObject it is cannot be told without InferenceSets."""
    assert probe(SET, scaled(REJECTED), unknown={resource: FORBIDDEN}) == []


def test_switched_off():
    settings = FullEvaluationSettings(keda_scaler_deployment="")
    assert probe(SET, scaled(REJECTED), settings=settings) == []
