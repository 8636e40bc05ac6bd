"""The played Kthena controller, on the real API server."""

import json

from e2e.stack.kthena import MODELSERVINGS, POD_GROUPS, REVISIONS
from lab.demo.modelserving import NAME

IMAGE = "vllm/vllm-openai:v0.15.0"


async def pods(stage, serving):
    found = await stage.api.items("pods", namespace=serving.namespace)
    return {each["metadata"]["name"]: each for each in found}


async def test_a_modelserving_gets_its_objects_and_scales(stage, serving):
    await serving.create()
    names = [
        f"{NAME}-{g}-{i}"
        for g in (0, 1)
        for i in ("decode-0-0", "decode-1-0", "prefill-0-0", "prefill-0-1")
    ]
    assert sorted(await pods(stage, serving)) == names
    groups = await stage.api.items(POD_GROUPS, namespace=serving.namespace)
    assert [each["spec"]["minMember"] for each in groups] == [4, 4]
    services = await stage.api.items("services", namespace=serving.namespace)
    assert [each["spec"]["clusterIP"] for each in services] == ["None", "None"]

    stage.kubectl("-n", serving.namespace, "scale", MODELSERVINGS, NAME, "--replicas=1")
    await serving.settled()
    assert sorted(await pods(stage, serving)) == names[:4]
    assert len(await stage.api.items(POD_GROUPS, namespace=serving.namespace)) == 1


async def test_a_new_template_replaces_all_groups_one_at_a_time(stage, serving):
    await serving.create()
    before = await pods(stage, serving)
    roles = (await serving.get())["spec"]["template"]["roles"]
    for each in roles:
        each["entryTemplate"]["spec"]["containers"][0]["image"] = IMAGE
    await serving.patch(template={"roles": roles})
    await serving.settled()
    after = await pods(stage, serving)
    assert before.keys() == after.keys()
    uids = [{each["metadata"]["uid"] for each in found.values()} for found in (before, after)]
    assert uids[0].isdisjoint(uids[1])
    assert len(await stage.api.items(REVISIONS, namespace=serving.namespace)) == 1


async def test_whole_status_put_is_accepted_and_drops_the_field(stage, serving):
    """As upstream's typed client does it, which does not know `roleStatuses`."""
    await serving.create()
    entry = {"servingGroupName": f"{NAME}-0", "roleName": "decode", "roleID": "decode-0"}
    status = {"roleStatuses": [{**entry, "status": "Running"}]}
    await stage.stack.status(MODELSERVINGS, serving.namespace, NAME, status=status)
    assert await serving.roles() == {f"{NAME}-0/decode-0": "Running"}
    await serving.kthena.tell(serving.key)
    assert await serving.roles() == {}
    found = json.loads(
        stage.kubectl("-n", serving.namespace, "get", MODELSERVINGS, NAME, "-o", "json")
    )
    assert found["status"]["availableReplicas"] == 2
