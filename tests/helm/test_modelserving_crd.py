"""The CRD of ModelServings: its fields, how it is installed, and how one that is there gets the field."""

import json

import pytest
import yaml

from reporter.stacks.kthena.reasons import MODELSERVINGS, MODELSERVINGS_FORMER
from tests.helm.charts import REPORTER, name_of, render

FILES = REPORTER / "files" / "crds"
MANIFEST = yaml.safe_load((FILES / "modelservings.yaml").read_text())
PATCH = json.loads((FILES / "role-statuses.json").read_text())
(VERSION,) = MANIFEST["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
NEW = ("roleStatuses", "roleStatusesOmitted")
KEYS = ["servingGroupName", "roleName", "roleID"]


def at(path: str) -> dict[str, object]:
    """Return the schema of a field; `[]` stands for the items of a list."""
    node = SCHEMA
    for part in path.split("."):
        name, items, _ = part.partition("[]")
        node = node["properties"][name]
        node = node["items"] if items else node
    return node


def without_descriptions(node):
    if isinstance(node, dict):
        return {
            key: without_descriptions(value)
            for key, value in node.items()
            if not (key == "description" and isinstance(value, str))
        }
    return [*map(without_descriptions, node)] if isinstance(node, list) else node


def test_it_is_the_resource_that_the_program_reads():
    assert name_of(MANIFEST) == MODELSERVINGS.crd_name
    assert MANIFEST["spec"]["group"] == MODELSERVINGS.group
    assert MANIFEST["spec"]["names"]["kind"] == MODELSERVINGS.kind
    assert VERSION["name"] in MODELSERVINGS.versions


@pytest.mark.parametrize(
    ("path", "default"),
    [
        ("spec.replicas", 1),
        ("spec.schedulerName", "volcano"),
        ("spec.recoveryPolicy", "RoleRecreate"),
        ("spec.plugins[].type", "BuiltIn"),
        ("spec.rolloutStrategy.type", "ServingGroupRollingUpdate"),
        ("spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable", 1),
        ("spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge", 0),
        ("spec.rolloutStrategy.rollingUpdateConfiguration.partition", None),
        ("spec.template.restartGracePeriodSeconds", 0),
        ("spec.template.networkTopology.groupPolicy.mode", "hard"),
        ("spec.template.networkTopology.rolePolicy.mode", "hard"),
        ("spec.template.roles[].replicas", 1),
        ("spec.template.roles[].workerReplicas", None),
        ("spec.template.roles[].maxUnavailable", 1),
        ("spec.template.roles[].partition", None),
    ],
)
def test_defaults_are_those_of_kthena(path, default):
    """Another default would change what an object means that leaves the field out."""
    assert at(path).get("default") == default


@pytest.mark.parametrize(
    ("path", "required"),
    [
        ("spec", ["template"]),
        ("spec.plugins[]", ["name", "type"]),
        ("spec.rolloutStrategy", ["type"]),
        ("spec.template", ["roles"]),
        ("spec.template.roles[]", ["name", "entryTemplate", "workerReplicas"]),
        ("status.conditions[]", ["type", "status", "reason", "message", "lastTransitionTime"]),
        ("status.roleStatuses[]", [*KEYS, "status"]),
    ],
)
def test_what_is_required(path, required):
    assert at(path)["required"] == required


def test_it_is_installed_only_on_request():
    assert render().of("CustomResourceDefinition") == []


def test_what_is_installed_is_the_manifest_and_stays_when_the_release_goes():
    """Deleting a CRD deletes all its objects, and Kthena the pods of every model after them."""
    installed = render({"modelServing.crd.install": True}).one("CustomResourceDefinition")
    assert installed["spec"] == MANIFEST["spec"]
    assert installed["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_the_former_group_is_a_choice():
    """The same fields under the group of the first API reference; null is the default."""
    values = {
        "modelServing.crd.install": True,
        "modelServing.crd.group": MODELSERVINGS_FORMER.group,
    }
    installed = render(values).one("CustomResourceDefinition")
    assert name_of(installed) == MODELSERVINGS_FORMER.crd_name
    assert installed["spec"] == MANIFEST["spec"] | {"group": MODELSERVINGS_FORMER.group}
    plain = render({"modelServing.crd.install": True, "modelServing.crd.group": None})
    assert name_of(plain.one("CustomResourceDefinition")) == MODELSERVINGS.crd_name


def test_the_patch_makes_an_installed_crd_what_ours_is():
    """It checks the version first, and adds just the fields that no release of Kthena has."""
    test, *additions = PATCH
    assert test == {"op": "test", "path": "/spec/versions/0/name", "value": VERSION["name"]}
    status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties"
    assert [(each["op"], each["path"]) for each in additions] == [
        ("add", f"{status}/{name}") for name in NEW
    ]
    ours = at("status")["properties"]
    assert [each["value"] for each in additions] == [
        without_descriptions(ours[name]) for name in NEW
    ]
