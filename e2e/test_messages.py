"""Events as the API server accepts them and kubectl shows them."""

import json

KAITO = ("clusterKaitoControllerNotReady", "cluster")
LIMIT = 1024
"""Bytes that the API server allows once eventTime is set."""

TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJl"
SECRETS = ("://", TOKEN, "hunter2", "abcdef01")
TEXTS = {
    "url": "ask for quota at https://portal.example/quota?sig=abcdef0123456789 today",
    "bearer": f"refused: Authorization: Bearer {TOKEN} is no longer valid",
    "password": "cannot log in with password=hunter2hunter2 at the registry",
    "lines": "first line\nsecond line\r\n\tthird line",
    "controls": "bell \u0007 escape \u001b[31mred\u001b[0m null-like \u0000 override \u202e end",
    "long": "the quota of this subscription is used up; " * 120,
    "multibyte": "配额已用完 请联系管理员 " * 130,
    "emoji": "\U0001f525" * 1250,
    "markup": "<script>alert('x')</script> \"quoted\" {braces} %s $(id)",
    "blank": " \n\t ",
}


async def refused_key(stage, namespace, text):
    """Create a workload namespace with only an APIKey that was refused with this text."""
    stage.namespaces.append(namespace)
    labels = {"productionstack.kaito.sh/managed-by": "modelharness"}
    place = {"apiVersion": "v1", "kind": "Namespace"}
    await stage.api.create({**place, "metadata": {"name": namespace, "labels": labels}})
    key = {"apiVersion": "kaito.sh/v1alpha1", "kind": "APIKey", "spec": {}}
    await stage.api.create({**key, "metadata": {"name": "default", "namespace": namespace}})
    no = ("Ready", "False", "SecretExists", text)
    await stage.stack.condition("apikeys.kaito.sh", namespace, "default", says=no)


async def test_text_of_a_condition_becomes_one_clean_line(stage, replica):
    """Whatever a controller writes, its Event is accepted, clean, and names the object first."""
    for name, text in TEXTS.items():
        await refused_key(stage, f"text-{name}", text)
    daemon = await replica()
    for name in TEXTS:
        event = await stage.told("modelharnessAPIKeyReconcileFailed", f"namespace/text-{name}")
        message = event["message"]
        assert message.startswith(f"APIKey text-{name}/default was not reconciled: SecretExists")
        assert len(message.encode()) <= LIMIT
        assert message.isprintable()
        assert "  " not in message
        assert "\ufffd" not in message
        assert not any(secret in message for secret in SECRETS)
    assert await daemon.writes(outcome="refused") == 0


async def test_event_has_the_fields_that_are_documented(stage, workload, replica, kubectl):
    """As in `kubectl get -o yaml`: what exporters, scripts and people rely on."""
    await stage.stack.scale("kaito-system", "kaito-workspace", 0)
    await replica("reporter-1")
    name = (await stage.told(*KAITO))["metadata"]["name"]
    event = json.loads(kubectl("-n", "kube-system", "get", "event", name, "-o", "json"))
    at_fault, home = (
        json.loads(kubectl(*words.split(), "-o", "json"))["metadata"]["uid"]
        for words in ("-n kaito-system get deployment kaito-workspace", "get ns kaito-system")
    )
    assert event["involvedObject"] == {
        "apiVersion": "v1", "kind": "Namespace", "name": "kaito-system", "uid": home,
    }  # fmt: skip
    assert event["related"] == {
        "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "kaito-system",
        "name": "kaito-workspace", "uid": at_fault,
    }  # fmt: skip
    labels = {
        key.removeprefix("status-reporter.io/"): value
        for key, value in event["metadata"]["labels"].items()
    }
    assert labels == {
        "layer": "cluster", "reason": KAITO[0], "subject-kind": "cluster",
        "state": "firing", "primary": "true",
    }  # fmt: skip
    assert event["eventTime"].endswith("Z")
    assert event["firstTimestamp"] <= event["lastTimestamp"]
    assert (event["type"], event["reason"], event["action"]) == ("Warning", KAITO[0], "Evaluate")
    component = "productionstack-status-reporter"
    assert event["source"] == {"component": component}
    assert event["reportingComponent"] == component
    assert event["reportingInstance"] == "reporter-1"
    assert event["metadata"]["annotations"]["status-reporter.io/subject"] == "cluster"
    assert "series" not in event


async def test_kubectl_shows_what_the_docs_promise(stage, workload, replica, kubectl):
    """The commands of an operator: all our Events, what fires now, and by object."""
    await stage.stack.scale("kaito-system", "body-based-router", 0)
    crd = "clustertriggerauthentications.keda.sh"
    await stage.stack.remove_crd(crd)
    await replica()
    ready = ("modelharnessReady", f"namespace/{workload}")
    await stage.told(*ready, state="over")
    await stage.told("clusterBBRNotReady", "cluster")
    await stage.told("clusterCRDMissing", "cluster")
    get = ("-n", "kube-system", "get", "events", "--no-headers")

    ours = kubectl(*get, "--field-selector", "source=productionstack-status-reporter")
    assert len(ours.splitlines()) == len(await stage.events())
    assert f"namespace/{workload}" in ours
    firing = kubectl(*get, "-l", "status-reporter.io/state=firing").splitlines()
    assert sorted(line.split()[2] for line in firing) == ["clusterBBRNotReady", "clusterCRDMissing"]
    assert all(line.split()[1] == "Warning" for line in firing)
    primary = kubectl(*get, "-l", "status-reporter.io/primary=true")
    assert primary.split()[2:4] == ["clusterBBRNotReady", "namespace/kaito-system"]

    of_namespace = kubectl("-n", "kube-system", "events", "--for", "namespace/kaito-system")
    assert "clusterBBRNotReady" in of_namespace
    assert f"namespace/{workload}" not in of_namespace
