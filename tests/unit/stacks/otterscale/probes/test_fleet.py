"""The operator's settings, from what it has finished and from its own arguments."""

import pytest

from reporter.stacks.otterscale.manifests.names import OperatorSettings
from reporter.stacks.otterscale.operator_flags import told_by
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.building import condition, deployment
from tests.unit.stacks.otterscale.probes.otterscale import (
    IDLE,
    children,
    found,
    healthy,
    modelservice,
    pods,
    reasons,
    without,
)

PLAIN = IDLE | {"httpRoute": None}
NOW = OperatorSettings(provider="none", default_gateway_name="")
ERROR = condition("Ready", "False", "ReconcileError", "no kind PodMonitor")
STUCK = [
    ("ReconcileError", {"status": {"conditions": [ERROR]}}),
    ("behind", {"status": {"observedGeneration": 1}}),
    ("not looked at yet", {"status": None}),
]


def made(name: str, operator: OperatorSettings, *patches, **spec):
    """A ModelService that wants no pods, and what an operator with these settings made for it."""
    objects = children(name, operator=operator, **spec)
    return [modelservice(*patches, name=name, **spec), *objects, *pods(objects)]


def around():
    return [each for each in healthy() if each["kind"] in {"Namespace", "Gateway"}]


def operator(*args: str):
    """The operator's Deployment, with these arguments."""
    container = {"name": "manager", "args": ["--leader-elect", *args]}
    template = {"spec": {"template": {"spec": {"containers": [container]}}}}
    return deployment("otterscale-system", "model-operator-controller-manager", template)


@pytest.mark.parametrize("patch", [each[1] for each in STUCK], ids=[each[0] for each in STUCK])
def test_one_that_hangs_says_nothing_of_the_others(patch):
    """It still has what the operator made with other settings; the healthy ones lack nothing."""
    docs = [
        *made("healthy", NOW, **PLAIN),
        *made("stuck", OperatorSettings(), patch, **PLAIN),
        *around(),
    ]
    assert reasons(docs, name="healthy") == []


def test_the_operators_arguments_tell_what_is_missing():
    """A single ModelService whose only DestinationRule and route are gone."""
    docs = [*made("only", OperatorSettings(), **PLAIN), *around()]
    gone = without(docs, ("DestinationRule", "only-epp"), ("HTTPRoute", "only"))
    assert reasons(gone, name="only") == []
    told = operator("--provider=istio", "--default-gateway-name", "inference")
    assert found([*gone, told], name="only") == [
        ("ObjectMissing", "HTTPRoute models/only"),
        ("RouteNotReady", "DestinationRule models/only-epp"),
    ]


def test_what_is_given_counts_before_the_arguments():
    """Who gives a flag knows better, as before the operator is upgraded."""
    docs = [*made("only", NOW, **PLAIN), *around(), operator("--provider=istio")]
    given = FullEvaluationSettings(otterscale_operator_flags={"provider": "none"})
    assert reasons(docs, name="only") == ["RouteNotReady"]
    assert reasons(docs, name="only", settings=given) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--provider=gke"], {"provider": "gke"}),
        (["-provider", "none", "--leader-elect"], {"provider": "none"}),
        (["--provider=istio", "--provider=none"], {"provider": "none"}),
        (["--default-gateway-name="], {"default_gateway_name": ""}),
        (["--default-gateway-name=$(GATEWAY)"], {}),
        (["provider=istio", "--kit-image=x", "--provider"], {}),
    ],
)
def test_arguments_as_go_reads_them(arguments, told):
    """Only what all ModelServices rest on; images are compared where they are given."""
    assert told_by(arguments) == told
