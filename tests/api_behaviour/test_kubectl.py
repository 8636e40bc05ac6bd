"""What users do with kubectl."""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.api_behaviour.api_client import (
    CORE_EVENTS,
    DEPLOYMENTS,
    TIMEOUT_SECONDS,
    Api,
    definition,
    deployment,
    new_event,
    old_event,
    unique,
)

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH")


class Kubectl:
    """Runs kubectl against the server under test, in a home of its own."""

    def __init__(self, home: Path, namespace: str) -> None:
        self._namespace = namespace
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "KUBECACHEDIR": str(home / "cache"),
            "KUBECONFIG": str(home / "config"),
        }

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            "kubectl",
            "-n",
            self._namespace,
            *arguments,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def fail(self, *arguments: str, given: object = None) -> str:
        """Run a command that must fail; what it says."""
        code, _, error = await self._run(arguments, given)
        assert code != 0
        return error

    async def run(self, *arguments: str, given: object = None) -> str:
        """Run a command that must succeed; what it prints."""
        code, output, error = await self._run(arguments, given)
        assert code == 0, error
        return output

    async def _run(self, arguments: tuple[str, ...], given: object) -> tuple[int, str, str]:
        process = await self.start(*arguments)
        text = given if isinstance(given, str | None) else json.dumps(given)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            output, error = await process.communicate(text.encode() if text else None)
        return process.returncode or 0, output.decode(), error.decode()


@pytest.fixture(name="kubectl")
def _kubectl(api: Api, namespace: str, tmp_path: Path) -> Kubectl:
    cluster = {"server": api.url}
    if authority := os.environ.get("STATUS_REPORTER_API_CA"):
        cluster["certificate-authority"] = authority
    token = os.environ.get("STATUS_REPORTER_API_TOKEN")
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    (tmp_path / "config").write_text(json.dumps(config))
    return Kubectl(tmp_path, namespace)


def columns(output: str) -> list[list[str]]:
    """The words of each line."""
    return [line.split() for line in output.splitlines()]


async def test_api_resources(kubectl: Kubectl):
    """api-resources lists what is served."""
    output = await kubectl.run("api-resources", "--no-headers")
    kinds = {line[-1] for line in columns(output)}
    assert {"Pod", "Deployment", "Lease", "Event", "CustomResourceDefinition"} <= kinds


async def test_get_table(api: Api, kubectl: Kubectl, namespace: str):
    """Get prints the columns of the kind."""
    await api.made(DEPLOYMENTS.format(namespace), deployment("d", replicas=2))
    header, row = columns(await kubectl.run("get", "deployments"))
    assert header == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert row[:4] == ["d", "0/2", "0", "0"]
    wide = await kubectl.run("get", "deploy", "d", "-o", "wide")
    assert "example.com/app:1" in wide
    assert "app=d" in wide
    name = await kubectl.run("get", "deploy", "-o", "jsonpath={.items[0].metadata.name}")
    assert name == "d"


async def test_create_and_replace(kubectl: Kubectl):
    """Create makes an object, replace takes an edited one back."""
    assert await kubectl.run("create", "-f", "-", given=deployment("d"))
    obj = json.loads(await kubectl.run("get", "deploy", "d", "-o", "json"))
    obj["spec"]["replicas"] = 4
    assert "replaced" in await kubectl.run("replace", "-f", "-", given=obj)
    found = json.loads(await kubectl.run("get", "deploy", "d", "-o", "json"))
    assert found["spec"]["replicas"] == 4
    assert "AlreadyExists" in await kubectl.fail("create", "-f", "-", given=deployment("d"))


async def test_create_commands(kubectl: Kubectl):
    """The short create commands work, with their protobuf bodies."""
    name = unique("checks")
    assert "created" in await kubectl.run("create", "namespace", name)
    assert "created" in await kubectl.run("create", "configmap", "c", "--from-literal=a=b")
    assert "created" in await kubectl.run("create", "serviceaccount", "s")
    assert await kubectl.run("get", "cm", "c", "-o", "jsonpath={.data.a}") == "b"
    await kubectl.run("delete", "namespace", name, "--wait=false")


async def test_client_side_apply(kubectl: Kubectl):
    """Apply creates, then patches what changed, then leaves as is."""
    assert "created" in await kubectl.run("apply", "-f", "-", given=deployment("d"))
    changed = deployment("d", replicas=3)
    assert "configured" in await kubectl.run("apply", "-f", "-", given=changed)
    assert "unchanged" in await kubectl.run("apply", "-f", "-", given=changed)
    assert await kubectl.run("get", "deploy", "d", "-o", "jsonpath={.spec.replicas}") == "3"


async def test_server_side_apply(kubectl: Kubectl):
    """Apply on the server's side works, on what was applied from the client's side too."""
    await kubectl.run("apply", "-f", "-", given=deployment("d"))
    output = await kubectl.run("apply", "--server-side", "-f", "-", given=deployment("d"))
    assert "serverside-applied" in output
    await kubectl.run("scale", "deploy", "d", "--replicas=5")
    error = await kubectl.fail("apply", "--server-side", "-f", "-", given=deployment("d"))
    assert "conflict" in error
    assert ".spec.replicas" in error
    forced = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    await kubectl.run(*forced, given=deployment("d"))
    assert await kubectl.run("get", "deploy", "d", "-o", "jsonpath={.spec.replicas}") == "1"


async def test_patch_status(kubectl: Kubectl):
    """The status can be patched as a subresource."""
    await kubectl.run("create", "-f", "-", given=deployment("d"))
    patch = json.dumps({"status": {"readyReplicas": 1, "replicas": 1}})
    await kubectl.run("patch", "deploy", "d", "--subresource=status", "--type=merge", "-p", patch)
    assert await kubectl.run("get", "deploy", "d", "-o", "jsonpath={.status.readyReplicas}") == "1"


async def test_scale_label_annotate(kubectl: Kubectl):
    """Scale, label and annotate change what they say."""
    await kubectl.run("create", "-f", "-", given=deployment("d"))
    assert "scaled" in await kubectl.run("scale", "deployment/d", "--replicas=0")
    assert "labeled" in await kubectl.run("label", "deploy", "d", "a=b")
    assert "annotated" in await kubectl.run("annotate", "deploy", "d", "c=d")
    found = json.loads(await kubectl.run("get", "deploy", "d", "-o", "json"))
    assert found["spec"]["replicas"] == 0
    assert found["metadata"]["labels"] == {"a": "b"}
    assert found["metadata"]["annotations"]["c"] == "d"
    assert "d" in await kubectl.run("get", "deploy", "-l", "a=b", "-o", "name")
    assert not await kubectl.run("get", "deploy", "-l", "a=c", "-o", "name")


async def test_describe(api: Api, kubectl: Kubectl, namespace: str):
    """Describe shows an object with the Events of its own namespace that carry its uid."""
    made = await api.made(DEPLOYMENTS.format(namespace), deployment("d"))
    reference = {
        "kind": "Deployment", "apiVersion": "apps/v1", "namespace": namespace, "name": "d",
        "uid": made["metadata"]["uid"],
    }  # fmt: skip
    event = old_event("e", namespace, involvedObject=reference, reason="Seen", message="look here")
    await api.made(CORE_EVENTS.format(namespace), event)
    output = await kubectl.run("describe", "deployment", "d")
    assert "Selector:" in output
    assert "look here" in output


async def test_delete_and_wait(kubectl: Kubectl):
    """Delete waits until the object is gone, wait waits for what it is told."""
    await kubectl.run("create", "-f", "-", given=deployment("d"))
    waiting = await kubectl.start("wait", "--for=delete", "deploy/d", "--timeout=20s")
    assert "deleted" in await kubectl.run("delete", "deploy", "d")
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await waiting.communicate()
    assert waiting.returncode == 0
    assert not await kubectl.run("get", "deploy", "-o", "name")


async def test_wait_for_a_condition(api: Api, kubectl: Kubectl, namespace: str):
    """Wait sees a condition that comes later."""
    path = DEPLOYMENTS.format(namespace)
    await api.made(path, deployment("d"))
    waiting = await kubectl.start("wait", "--for=condition=Available", "deploy/d", "--timeout=20s")
    condition = {"type": "Available", "status": "True"}
    await api.patch(f"{path}/d/status", {"status": {"conditions": [condition]}})
    async with asyncio.timeout(TIMEOUT_SECONDS):
        output, _ = await waiting.communicate()
    assert b"condition met" in output


async def test_watch(api: Api, kubectl: Kubectl, namespace: str):
    """Get -w prints the state, and then a row for each change."""
    path = DEPLOYMENTS.format(namespace)
    await api.made(path, deployment("d"))
    process = await kubectl.start("get", "deploy", "-w")
    assert process.stdout is not None
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            header = await process.stdout.readline()
            first = await process.stdout.readline()
            await api.patch(f"{path}/d", {"spec": {"replicas": 7}})
            second = await process.stdout.readline()
    finally:
        process.terminate()
        await process.communicate()
    assert header.split()[0] == b"NAME"
    assert (first.split()[:2], second.split()[:2]) == ([b"d", b"0/1"], [b"d", b"0/7"])


async def make_events(api: Api, namespace: str) -> None:
    """Two Events of different age, source and label."""
    path = CORE_EVENTS.format(namespace)
    for name, minute in (("z", "01"), ("a", "02")):
        event = old_event(
            name,
            namespace,
            reason=f"Reason{name.upper()}",
            type="Warning",
            message=f"message {name}",
            count=1,
            source={"component": f"source-{name}"},
            firstTimestamp=f"2026-01-01T00:{minute}:00Z",
            lastTimestamp=f"2026-01-01T00:{minute}:00Z",
        )
        event["metadata"]["labels"] = {"name": name}
        await api.made(path, event)


async def test_get_events(api: Api, kubectl: Kubectl, namespace: str):
    """Get events prints, selects by field and label, and sorts."""
    await make_events(api, namespace)
    header, *rows = columns(await kubectl.run("get", "events"))
    assert header == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert [row[2] for row in rows] == ["ReasonA", "ReasonZ"]
    (row,) = columns(
        await kubectl.run("get", "events", "--no-headers", "--field-selector=source=source-z")
    )
    assert row[1:] == ["Warning", "ReasonZ", "pod/p", "message", "z"]
    (row,) = columns(await kubectl.run("get", "events", "--no-headers", "-l", "name=a"))
    assert row[2] == "ReasonA"
    output = await kubectl.run("get", "events", "--no-headers", "--sort-by=.lastTimestamp")
    assert [row[2] for row in columns(output)] == ["ReasonZ", "ReasonA"]
    wide = await kubectl.run("get", "events", "-o", "wide")
    assert "source-a" in wide


async def test_events_command(api: Api, kubectl: Kubectl, namespace: str):
    """Kubectl's own events command prints oldest first and selects a subject."""
    await make_events(api, namespace)
    output = await kubectl.run("events", "--no-headers")
    assert [row[2] for row in columns(output)] == ["ReasonZ", "ReasonA"]
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "web", "namespace": namespace}
    await api.made(CORE_EVENTS.format(namespace), new_event("n", involvedObject=reference))
    output = await kubectl.run("events", "--for", "pod/web", "--no-headers")
    assert "Checked" in output
    assert "ReasonZ" not in output


async def test_auth_can_i(kubectl: Kubectl):
    """Access can be asked for."""
    assert (await kubectl.run("auth", "can-i", "list", "pods")).strip() == "yes"


async def test_custom_kind(kubectl: Kubectl):
    """A custom kind is defined, waited for, used and deleted."""
    plural = unique("k").replace("-", "")
    columns_ = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
    crd = definition(plural, additionalPrinterColumns=columns_)
    await kubectl.run("apply", "-f", "-", given=crd)
    name = crd["metadata"]["name"]
    await kubectl.run("wait", "--for=condition=established", f"crd/{name}", "--timeout=20s")
    obj = {
        "apiVersion": "checks.example.com/v1",
        "kind": crd["spec"]["names"]["kind"],
        "metadata": {"name": "o"},
        "spec": {"size": 3},
    }
    assert "created" in await kubectl.run("apply", "-f", "-", given=obj)
    obj["spec"]["size"] = 4
    assert "configured" in await kubectl.run("apply", "-f", "-", given=obj)
    header, row = columns(await kubectl.run("get", plural))
    assert (header, row) == (["NAME", "SIZE"], ["o", "4"])
    assert "deleted" in await kubectl.run("delete", "crd", name)
