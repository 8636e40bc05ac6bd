"""What becomes of requests without a part: rows name reasons and sources, and codes lead to them."""

import pytest

from reporter.catalogue.ways import WAYS, clients_get, explaining
from reporter.cli.explain import main
from reporter.stacks import BUILT_IN
from tests.scenarios.world import SCENARIOS


def test_each_row_names_reasons_and_a_public_source():
    names = {each.name for each in BUILT_IN}
    wrong = [each.part for each in WAYS if not set(each.reasons) <= names or "/" not in each.source]
    assert wrong == []


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        ("bbr_unavailable", "clusterBBRNotReady"),
        ("502 bbr_unavailable", "clusterBBRNotReady"),
        ("ext_authz_unavailable", "clusterGatewayAuthNotReady"),
        ("epp_unavailable", "inferencesetEPPNotReady"),
        ("gateway_unavailable", "modelharnessGatewayDataPlaneNotReady"),
        ("MODEL_UNAVAILABLE", "inferencesetModelPodsNotReady"),
        ("model_not_found", "inferencesetRouteNotReady"),
        ("429", "modelserviceEPPShedding"),
        ("x-kaito-error-source: authz", "clusterGatewayAuthNotReady"),
        ("503", "inferenceserviceRevisionNotReady"),
    ],
)
def test_what_a_client_saw_leads_to_the_reasons(seen, reason, capsys):
    assert main([seen]) == 0
    assert f"  {reason}: {BUILT_IN[reason].summary}" in capsys.readouterr().out


def test_each_reason_on_the_way_fires_in_a_scenario():
    """A row that nothing tests would be a belief. Runtime rules read pages, which scenarios do not have."""
    fires = {
        reason
        for cases in SCENARIOS.values()
        for case in cases
        for step in case["steps"]
        for reason, disposition in (step.get("findings") or {}).items()
        if "firing" in str(disposition)
    }
    explained = {name for each in WAYS for name in each.reasons}
    runtime = {each.name for each in BUILT_IN if each.window_seconds}
    assert explained - fires - runtime == set()


def test_a_cause_says_what_clients_get():
    assert clients_get("clusterBBRNotReady") == "502 bbr_unavailable"
    assert clients_get("clusterKedaNotReady") == ""
    assert explaining("clusterBBRNotReady") == ()
