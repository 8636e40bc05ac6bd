"""Discovery, health, OpenAPI and access reviews (rows of 3.10 and 6.3)."""

import pytest

from tests.api_behaviour.api_client import Api

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez"])
async def test_health(api: Api, path: str):
    """Health paths say ok."""
    answer = await api.get(path)
    assert (answer.status, answer.text) == (200, "ok")


async def test_openapi(api: Api):
    """OpenAPI v3 has a PATCH with fieldValidation for each kind, so kubectl does not validate."""
    index = (await api.get("/openapi/v3")).json["paths"]
    assert {"api/v1", "apis/apps/v1"} <= set(index)
    path = index["apis/apps/v1"]["serverRelativeURL"].split("?")[0]
    document = (await api.get(path)).json
    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"]["kind"] == "Deployment"
    assert "fieldValidation" in {item.get("name") for item in patch["parameters"]}


async def test_protobuf_access_review(api: Api):
    """A review may come as protobuf, and JSON is the answer if that is asked for."""
    asked = b"\n\x07default\x12\x04list\x1a\x00\x22\x00*\x04pods2\x00:\x00"
    spec = b"\n" + bytes([len(asked)]) + asked
    raw = b"\n\0\x12" + bytes([len(spec)]) + spec + b"\x1a\0"
    kind = b"\n\x17authorization.k8s.io/v1\x12\x17SelfSubjectAccessReview"
    envelope = b"\n" + bytes([len(kind)]) + kind + b"\x12" + bytes([len(raw)]) + raw + b'\x1a\0"\0'
    answer = await api.post(
        REVIEWS, b"k8s\0" + envelope, content_type="application/vnd.kubernetes.protobuf"
    )
    assert answer.status == 201, answer.text
    assert answer.json["spec"]["resourceAttributes"]["verb"] == "list"
