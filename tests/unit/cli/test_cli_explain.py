import json

import pytest

from tests.tables import REASONS


def test_without_a_reason_all_are_listed(run):
    status, out, _ = run("explain")
    assert status == 0
    for reason in REASONS:
        assert f"  {reason.name} " in out
        assert reason.summary in out


def test_each_reason_says_what_to_do(run):
    """Meaning, trigger and action of every reason are shown, within 100 columns."""
    left_out, too_wide = [], []
    for reason in REASONS:
        status, out, _ = run("explain", reason.name)
        assert status == 0
        flowing = " ".join(out.split())
        left_out += [
            (reason.name, text)
            for text in (reason.summary, reason.trigger, reason.action)
            if " ".join(text.split()) not in flowing
        ]
        # A command stays whole, to be copied.
        lines = (line for line in out.splitlines() if " kubectl " not in line)
        too_wide += [line for line in lines if len(line) > 100]
    assert left_out == []
    assert too_wide == []


def test_letter_case_does_not_matter(run):
    assert run("explain", "CLUSTERREADY")[1] == run("explain", "clusterReady")[1]


def test_suppression_is_told_from_both_sides(run):
    upstream = " ".join(run("explain", "clusterIstioControlPlaneNotReady")[1].split())
    assert "Suppresses: modelharnessGatewayClassMissing" in upstream
    downstream = " ".join(run("explain", "modelharnessGatewayClassMissing")[1].split())
    assert "Suppressed by: clusterIstioControlPlaneNotReady, because istiod writes" in downstream


def test_json(run):
    one = json.loads(run("explain", "inferencesetInfraProvisioningFailed", "-o", "json")[1])
    assert one["graceSeconds"] == 180
    assert "clusterKaitoControllerNotReady" in [each["reason"] for each in one["suppressedBy"]]
    every = json.loads(run("explain", "-o", "json")[1])
    assert [each["reason"] for each in every] == [reason.name for reason in REASONS]


DECLARED = """
custom-components:
  - reason: clusterVectorStoreNotReady
    layer: cluster
    after: clusterBBRNotReady
    suppresses: [inferencesetRouteNotReady]
    why: requests are answered from the vector store
    workload: {kind: StatefulSet, name: qdrant, namespaces: [vector-db]}
"""


@pytest.fixture(name="config")
def _config(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(DECLARED)
    return str(path)


def test_reasons_of_the_file_are_explained_like_the_others(run, config):
    """They are marked, so that nobody looks for them in the documentation."""
    name = "clusterVectorStoreNotReady"
    text = " ".join(run("explain", name.upper(), "--config", config)[1].split())
    assert text.startswith(f"{name} (cluster, Warning) Meaning: StatefulSet qdrant")
    assert "Suppresses: inferencesetRouteNotReady" in text
    assert "Reads: statefulsets.apps" in text
    assert "Declared: by you, in custom-components of the file of --config" in text
    assert "Declared:" not in run("explain", "clusterBBRNotReady", "--config", config)[1]
    downstream = " ".join(
        run("explain", "inferencesetRouteNotReady", "--config", config)[1].split()
    )
    assert f"{name}, because requests are answered from the vector store" in downstream
    assert name not in run("explain", "inferencesetRouteNotReady")[1]
