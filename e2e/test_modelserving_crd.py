"""The CRD of ModelServings on the real API server: what it refuses, and who may install it."""

import asyncio
import json
import shlex
from dataclasses import replace

import pytest
import yaml

from e2e.envtest.commands import EnvtestError
from e2e.envtest.control_plane import control_plane
from e2e.envtest.release import REPORTER, Release

pytestmark = pytest.mark.xdist_group("crd")  # its control plane is started once

CRD = "modelservings.workload.serving.volcano.sh"
MANIFEST = yaml.safe_load((REPORTER / "files" / "crds" / "modelservings.yaml").read_text())
INSTALL = {"modelServing": {"crd": {"install": True}}}
POD = {"spec": {"containers": [{"name": "engine", "image": "engine:1", "unknownToUs": 1}]}}
ROLE = {"name": "prefill", "workerReplicas": 0, "entryTemplate": POD}
GANG = {"minRoleReplicas": {"prefill": 1}}
ENTRY = {
    "servingGroupName": "m-0",
    "roleName": "prefill",
    "roleID": "prefill-0",
    "status": "Running",
}


@pytest.fixture(name="empty", scope="module")
def _empty(tmp_path_factory):
    """A release in a control plane of this module, since CRDs come and go."""
    with control_plane(tmp_path_factory.mktemp("crd")) as plane:
        yield Release.on(plane, "one", "one")


@pytest.fixture(name="ours")
def _ours(empty):
    """The CRD as the chart installs it, and a ModelServing."""
    asyncio.run(empty.install(REPORTER, INSTALL))
    empty.kubectl("wait", "--for=condition=Established", f"crd/{CRD}")
    spec = {"template": {"gangPolicy": GANG, "roles": [ROLE]}}
    empty.kubectl("apply", "-f", "-", stdin=modelserving(spec))
    yield empty
    empty.helm.run("uninstall", empty.name, "--namespace", empty.namespace)
    empty.kubectl("delete", "crd", CRD, "--ignore-not-found")


def modelserving(spec):
    metadata = {"name": "m", "namespace": "default"}
    group = f"{MANIFEST['spec']['group']}/v1alpha1"
    return json.dumps(
        {"apiVersion": group, "kind": "ModelServing", "metadata": metadata, "spec": spec}
    )


def released():
    """Return the CRD without the fields that no release of Kthena has."""
    crd = json.loads(json.dumps(MANIFEST))
    (version,) = crd["spec"]["versions"]
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    del status["roleStatuses"], status["roleStatusesOmitted"]
    return json.dumps(crd)


def patched(release, change, *, status=False):
    """Return the API server's response to a merge patch."""
    part = ["--subresource=status"] if status else []
    patch = ["patch", "modelserving", "m", "--type=merge", "-p", json.dumps(change)]
    return release.kubectl.run(*patch, *part)


def spec_of(release):
    return json.loads(release.kubectl("get", "modelserving", "m", "-o", "json"))["spec"]


def test_defaults_are_filled_in_and_pod_specs_kept_as_they_are(ours):
    spec = spec_of(ours)
    assert (spec["replicas"], spec["schedulerName"]) == (1, "volcano")
    assert spec["recoveryPolicy"] == "RoleRecreate"
    (role,) = spec["template"]["roles"]
    assert (role["replicas"], role["maxUnavailable"]) == (1, 1)
    assert role["entryTemplate"] == POD


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"replicas": -1}, "greater than or equal to 0"),
        ({"recoveryPolicy": "No"}, "Unsupported value"),
        ({"rolloutStrategy": {"type": "Recreate"}}, "Unsupported value"),
        ({"template": {"gangPolicy": None}}, "gangPolicy cannot be removed"),
        ({"template": {"gangPolicy": {"minRoleReplicas": None}}}, "cannot be removed"),
        ({"template": {"gangPolicy": {"minRoleReplicas": {"prefill": 0}}}}, "cannot be changed"),
        ({"template": {"roles": []}}, "at least 1 items"),
        ({"template": {"roles": [ROLE, ROLE]}}, "two roles have the same name"),
        ({"template": {"roles": [{**ROLE, "name": "n" * 13}]}}, "may not be more than 12"),
        (
            {"template": {"roles": [{"name": "a", "entryTemplate": POD}]}},
            "workerReplicas: Required",
        ),
    ],
)
def test_what_the_schema_refuses(ours, change, said):
    assert said in patched(ours, {"spec": change}).stderr


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([{**ENTRY, "status": "Run"}], "Unsupported value"),
        ([{**ENTRY, "roleID": None}], "roleID"),
        ([ENTRY, ENTRY], "Duplicate value"),
    ],
)
def test_role_statuses_that_are_refused(ours, entries, said):
    assert said in patched(ours, {"status": {"roleStatuses": entries}}, status=True).stderr


def test_the_status_is_shown_and_scale_works(ours):
    status = {"replicas": 2, "availableReplicas": 1, "updatedReplicas": 2, "labelSelector": "a=b"}
    assert not patched(
        ours, {"status": {**status, "roleStatuses": [ENTRY]}}, status=True
    ).returncode
    heading, row = ours.kubectl("get", "modelserving").splitlines()
    assert heading.split() == ["NAME", "REPLICAS", "AVAILABLE", "UPDATED", "AGE"]
    assert row.split()[:4] == ["m", "2", "1", "2"]
    found = ours.kubectl("get", "modelserving", "m", "-o", "jsonpath={.status.roleStatuses}")
    assert json.loads(found) == [ENTRY]
    ours.kubectl("scale", "modelserving", "m", "--replicas=3")
    assert spec_of(ours)["replicas"] == 3


def test_the_release_keeps_it_through_upgrades_and_leaves_it_when_it_goes(ours):
    assert "was installed" in asyncio.run(ours.install(REPORTER, INSTALL))
    asyncio.run(ours.uninstall())
    assert ours.kubectl("get", "modelserving", "-o", "name").split()


def test_one_of_another_release_is_left_alone(ours):
    """It would be taken from that release, or the installation would fail because of it."""
    second = replace(ours, name="two", namespace="two")
    notes = asyncio.run(second.install(REPORTER, INSTALL))
    assert "was left alone: it comes from release one in namespace one." in notes
    assert "kubectl patch crd" not in notes
    annotations = json.loads(ours.kubectl("get", "crd", CRD, "-o", "json"))["metadata"][
        "annotations"
    ]
    assert annotations["meta.helm.sh/release-name"] == "one"
    asyncio.run(second.uninstall())
    assert ours.kubectl("get", "crd", CRD, "-o", "name")


@pytest.mark.parametrize("values", [INSTALL, {}], ids=["still asked for", "switched off"])
def test_one_that_was_replaced_is_not_deleted_by_an_upgrade(ours, values):
    """Helm would, since its last manifest has it, and every ModelServing would go with it."""
    ours.kubectl("delete", "crd", CRD)
    ours.kubectl("create", "-f", "-", stdin=released())
    with pytest.raises(EnvtestError, match="has been replaced since; Helm would delete it now"):
        asyncio.run(ours.install(REPORTER, values))
    ours.kubectl("annotate", "crd", CRD, "helm.sh/resource-policy=keep")
    asyncio.run(ours.install(REPORTER, values))
    asyncio.run(ours.install(REPORTER, values))
    assert ours.kubectl("get", "crd", CRD, "-o", "name")


def test_one_without_the_field_gets_it_from_the_command_in_the_notes(empty):
    """As a release of Kthena installs it."""
    empty.kubectl("create", "-f", "-", stdin=released())
    third = replace(empty, name="three", namespace="three")
    notes = asyncio.run(third.install(REPORTER, INSTALL))
    assert "it comes from something other than Helm" in notes
    (command,) = (line for line in notes.splitlines() if "kubectl patch crd" in line)
    empty.kubectl(*shlex.split(command)[1:])
    found = json.loads(empty.kubectl("get", "crd", CRD, "-o", "json"))["spec"]["versions"][0]
    properties = found["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    assert properties["roleStatuses"]["x-kubernetes-list-type"] == "map"
    assert "roleStatusesOmitted" in properties
    empty.kubectl("delete", "crd", CRD)
