"""Deleting objects and namespaces, and the subresources status and scale."""

from tests.api_behaviour.api_client import (
    CONFIG_MAPS,
    Api,
    config_map,
    deployment,
    unique,
)


async def test_protobuf_delete_options(api: Api, path: str):
    """Empty DeleteOptions may come as protobuf."""
    await api.made(path, config_map("a"))
    body = b'k8s\0\n\x13\n\x02v1\x12\rDeleteOptions\x12\0\x1a\0"\0'
    content_type = "application/vnd.kubernetes.protobuf"
    answer = await api.delete(f"{path}/a", body, content_type=content_type)
    assert answer.status == 200, answer.text


async def test_finalizers_hold_an_object(api: Api, path: str):
    """What has finalizers stays, marked, until the last one is taken away."""
    body = config_map("a")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await api.made(path, body)
    answer = await api.delete(f"{path}/a")
    assert answer.status == 200
    marked = (await api.get(f"{path}/a")).json
    assert marked["metadata"]["deletionTimestamp"]
    added = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    assert (await api.patch(f"{path}/a", added)).status == 422
    assert (await api.patch(f"{path}/a", {"data": {"x": "1"}})).status == 200
    assert (await api.patch(f"{path}/a", {"metadata": {"finalizers": None}})).status == 200
    assert (await api.get(f"{path}/a")).status == 404


async def test_delete_collection(api: Api, path: str):
    """A collection is deleted by selector."""
    for name in ("a", "b", "c"):
        body = config_map(name)
        body["metadata"]["labels"] = {"name": name}
        await api.made(path, body)
    answer = await api.delete(path, labelSelector="name in (a, b)")
    assert answer.status == 200
    left = (await api.get(path, labelSelector="name")).json["items"]
    assert [item["metadata"]["name"] for item in left] == ["c"]


async def test_some_namespaces_stay(api: Api):
    """The namespaces that the system lives in cannot be deleted."""
    answer = await api.delete("/api/v1/namespaces/kube-system")
    assert (answer.status, answer.reason) == (403, "Forbidden")


async def test_terminating_namespace_takes_nothing_new(api: Api):
    """While a namespace goes, creating in it is forbidden with a cause."""
    name = unique("checks")
    await api.made("/api/v1/namespaces", {"metadata": {"name": name}})
    path = CONFIG_MAPS.format(name)
    body = config_map("a")
    body["metadata"]["finalizers"] = ["example.com/hold"]
    await api.made(path, body)
    await api.delete(f"/api/v1/namespaces/{name}")
    assert (await api.get(f"/api/v1/namespaces/{name}")).json["status"]["phase"] == "Terminating"
    answer = await api.post(path, config_map("b"))
    assert (answer.status, answer.reason) == (403, "Forbidden")
    assert answer.json["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    await api.patch(f"{path}/a", {"metadata": {"finalizers": None}})


async def test_deployment_is_checked(api: Api, deployments: str):
    """A selector that does not fit the template is refused, and cannot change later."""
    body = deployment("d", selector={"matchLabels": {"app": "other"}})
    assert (await api.post(deployments, body)).status == 422
    await api.made(deployments, deployment("d"))
    change = {"spec": {"selector": {"matchLabels": {"x": "y"}}}}
    answer = await api.patch(f"{deployments}/d", change)
    assert answer.status == 422


async def test_status_isolation(api: Api, deployments: str):
    """The main resource leaves the status alone, /status leaves all else alone."""
    body = deployment("d")
    body["status"] = {"replicas": 7}
    made = await api.made(deployments, body)
    assert "replicas" not in made["status"]
    ignored = await api.patch(f"{deployments}/d", {"status": {"replicas": 7}})
    assert "replicas" not in ignored.json["status"]
    change = {"status": {"replicas": 3}, "spec": {"replicas": 9}}
    answer = await api.patch(f"{deployments}/d/status", change)
    assert answer.status == 200
    assert (answer.json["status"]["replicas"], answer.json["spec"]["replicas"]) == (3, 1)
    assert answer.json["metadata"]["generation"] == 1
    put = answer.json
    put["spec"]["replicas"] = 4
    put["status"] = {}
    replaced = (await api.put(f"{deployments}/d", put)).json
    assert (replaced["status"]["replicas"], replaced["spec"]["replicas"]) == (3, 4)


async def test_status_put_is_guarded(api: Api, deployments: str):
    """A PUT of a status with a stale version is a conflict."""
    made = await api.made(deployments, deployment("d"))
    await api.patch(f"{deployments}/d", {"spec": {"replicas": 2}})
    made["status"] = {"replicas": 1}
    assert (await api.put(f"{deployments}/d/status", made)).status == 409


async def test_scale(api: Api, deployments: str):
    """The scale subresource reads and writes the replicas alone."""
    made = await api.made(deployments, deployment("d", replicas=2))
    scale = (await api.get(f"{deployments}/d/scale")).json
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"]["selector"] == "app=d"
    assert scale["metadata"]["uid"] == made["metadata"]["uid"]
    patched = await api.patch(f"{deployments}/d/scale", {"spec": {"replicas": 0}})
    assert (patched.status, patched.json["spec"].get("replicas", 0)) == (200, 0)
    scale["spec"]["replicas"] = 5
    assert (await api.put(f"{deployments}/d/scale", scale)).status == 409
    del scale["metadata"]["resourceVersion"]
    assert (await api.put(f"{deployments}/d/scale", scale)).status == 200
    after = (await api.get(f"{deployments}/d")).json
    assert (after["spec"]["replicas"], after["metadata"]["generation"]) == (5, 3)


async def test_scale_below_zero(api: Api, deployments: str):
    """Replicas cannot be negative."""
    await api.made(deployments, deployment("d"))
    answer = await api.patch(f"{deployments}/d/scale", {"spec": {"replicas": -1}})
    assert answer.status == 422
