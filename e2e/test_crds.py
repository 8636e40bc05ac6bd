"""Our minimal CustomResourceDefinitions: as the reporter's table has it, and wide enough."""

from pathlib import Path

import pytest

from e2e.stack import sample
from reporter.catalogue import resources as r
from reporter.probes.cluster.crds import required_crds
from reporter.settings import EvaluationSettings

CUSTOM = [each for each in r.ALL if each.custom]
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
BY_NAME = {crd["metadata"]["name"]: crd for crd in sample.crds()}


@pytest.mark.parametrize("resource", CUSTOM, ids=str)
def test_crd_is_what_the_table_says(resource):
    crd = BY_NAME[resource.crd_name]
    spec = crd["spec"]
    assert spec["group"] == resource.group
    assert (spec["names"]["plural"], spec["names"]["kind"]) == (resource.plural, resource.kind)
    assert spec["scope"] == ("Namespaced" if resource.namespaced else "Cluster")
    assert [each["name"] for each in spec["versions"]] == [*resource.versions]
    assert [each["storage"] for each in spec["versions"]].count(True) == 1
    assert all(each["served"] and "status" in each["subresources"] for each in spec["versions"])


def test_there_is_a_crd_for_each_that_is_required():
    assert {each.name for each in required_crds(EvaluationSettings())} <= BY_NAME.keys()


@pytest.mark.parametrize("resource", CUSTOM, ids=str)
async def test_server_serves_every_version_with_a_structural_schema(stage, resource):
    crd = await stage.api.get("customresourcedefinitions.apiextensions.k8s.io", resource.crd_name)
    conditions = {each["type"]: each["status"] for each in crd["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert "NonStructuralSchema" not in conditions
    served = {each.version for each in await stage.api.resources() if each.name == str(resource)}
    assert served == {*resource.versions}
