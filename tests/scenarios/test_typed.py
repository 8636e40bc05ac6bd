"""What a finding says to type, typed: each command of each scenario shows something."""

import asyncio
import json
import os
import shutil

import pytest

from lab.sandbox.controllers import running
from tests.scenarios.test_scenarios import Run
from tests.scenarios.world import SCENARIOS, span
from tests.unit.probes.building import resources_of

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on PATH"),
]
_LONGEST = 2400
_AT_ONCE = 4


def _documents(world):
    """The objects of a scenario, and a definition of each kind that is served."""
    for (kind, _), doc in world.objects.items():
        for known in resources_of({"kind": kind, **doc}, world.declared)[:1]:
            yield {"apiVersion": known.api_version(), "kind": kind} | _with_containers(kind, doc)
    names = {each.crd_name: each for each in world.resources if each.custom}
    for name in sorted(world.crds - world.absent):
        plural, _, group = name.partition(".")
        versions, kind, scope = ["v1"], plural.removesuffix("s").title(), "Namespaced"
        if each := names.get(name):
            versions, kind = each.versions, each.kind
            scope = "Namespaced" if each.namespaced else "Cluster"
        schema = {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        }
        yield {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": name},
            "spec": {
                "group": group,
                "scope": scope,
                "names": {"plural": plural, "kind": kind, "singular": kind.lower()},
                "versions": [
                    {"name": each, "served": True, "storage": each == versions[0], "schema": schema}
                    for each in versions
                ],
            },
        }  # fmt: skip


def _with_containers(kind, doc):
    """Return a pod with the containers that its status tells of."""
    if kind != "Pod":
        return doc
    spec, status = dict(doc.get("spec") or {}), doc.get("status") or {}
    for field, name in (
        ("containers", "containerStatuses"),
        ("initContainers", "initContainerStatuses"),
    ):
        had = {each["name"]: each for each in spec.get(field) or ()}
        told = {each["name"]: {"name": each["name"]} for each in status.get(name) or ()}
        spec[field] = [*(told | had).values()]
    return doc | {"spec": spec}


def _let_containers_speak(sandbox, world) -> None:
    """Give what has run a log, and what was started again one of the run before."""
    for (kind, place), doc in world.objects.items():
        status = doc.get("status") or {}
        if kind != "Pod":
            continue
        for each in (
            *status.get("initContainerStatuses", ()),
            *status.get("containerStatuses", ()),
        ):
            again = each.get("restartCount", 0) or "terminated" in (each.get("lastState") or {})
            runs = {"running", "terminated"} & (each.get("state") or {}).keys()
            for previous in (*([False] if runs or again else ()), *([True] if again else ())):
                where = (*place.split("/"), each["name"])
                sandbox.container_logs.write(*where, text="said\n", previous=previous)


async def _typed(command: str, kubeconfig, gate) -> str:
    """What is wrong with what a command shows; empty where nothing is."""
    async with gate:
        process = await asyncio.create_subprocess_shell(
            command,
            env={"PATH": os.environ["PATH"], "HOME": str(kubeconfig.parent), "KUBECONFIG": str(kubeconfig)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        output, error = await process.communicate()
    lines = [each for each in output.splitlines() if each and not each.startswith(b"error: ")]
    # That nothing of the kind is there answers the question as well, and so does no condition.
    shown = lines or error.startswith(b"No resources found") or "-o jsonpath=" in command
    if process.returncode == 0 and shown:
        return ""
    return f"{command}\n    {process.returncode}: {(error or output).decode().strip()[:300]}"


def _worlds(cases):
    """Yield a scenario at each step that says to type what no earlier one did."""
    known = set()
    for case in cases:
        if max(span(each.get("at", "0s")) for each in case["steps"]).total_seconds() > _LONGEST:
            continue
        run = Run(case)
        for number, step in enumerate(case["steps"]):
            run.go_to(span(step.get("at", "0s")))
            run.take(step)
            # What is not seen any more has the commands of when it was; the API may be away.
            found = [
                each
                for each in run.report.findings
                if each.disposition != "clearing" and not each.stale
            ]
            commands = {one for each in found for one in each.commands if one.startswith("kubectl")}
            if new := commands - known:
                known |= new
                yield f"{case['id']}[{number}]", run.world, sorted(new)


@pytest.mark.parametrize("file", sorted(SCENARIOS))
async def test_each_command_shows_something(file, tmp_path):
    """It ends well and prints something, at the step that said it first."""
    kubeconfig, gate, wrong = tmp_path / "config", asyncio.Semaphore(_AT_ONCE), []
    for name, world, commands in _worlds(SCENARIOS[file]):
        documents = json.loads(json.dumps(list(_documents(world)), default=str))
        async with running(documents, kubeconfig_path=kubeconfig, controllers=False) as sandbox:
            _let_containers_speak(sandbox, world)
            said = await asyncio.gather(*(_typed(each, kubeconfig, gate) for each in commands))
            wrong += [f"{name}: {each}" for each in said if each]
    assert not wrong, "\n".join(wrong)
