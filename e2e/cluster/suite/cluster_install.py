"""The install of the README."""

import json
import os
import re
import subprocess

import pytest

from e2e.cluster.cluster import take_lock
from e2e.cluster.images import REPOSITORY
from e2e.cluster.settings import ROOT
from e2e.cluster.suite.conftest import IN_NAMESPACE, NAMESPACE, OWN_LABEL
from e2e.cluster.suite.story import all_is_well, until
from e2e.envtest.commands import EnvtestError
from e2e.envtest.release import REPORTER
from reporter.catalogue.resources import COMPONENT, EVENT_NAMESPACE

# Objects that exist only as long as others, or on their own account.
PASSING = {"events", "events.events.k8s.io", "endpointslices.discovery.k8s.io", "endpoints"}


def readme(command: str) -> str:
    """Return the README's command with this beginning."""
    found = re.search(
        rf"^\$ ({command}(?:.*\\\n)*.*)$", (ROOT / "README.md").read_text(), re.MULTILINE
    )
    assert found, f"the README has no {command}"
    return found[1].replace("<registry>/productionstack-status-reporter", REPOSITORY)


def as_written(command: str, cluster, helm) -> str:
    """Run a command of the README, and return its output."""
    path = f"{helm.program.parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "PATH": path}
    done = subprocess.run(
        readme(command), shell=True, cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def objects(kubectl) -> set[str]:
    kinds = set(kubectl("api-resources", "--verbs=list", "-o", "name").split()) - PASSING
    form = "jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{'\\n'}{end}"
    return set(kubectl("get", ",".join(sorted(kinds)), "-A", "-o", form).splitlines())


def warnings(kubectl) -> list[str]:
    """Return the Warnings about the replicas' own pods that exist."""
    pods = json.loads(kubectl("-n", NAMESPACE, "get", "pods", "-l", OWN_LABEL, "-o", "json"))
    own = {each["metadata"]["uid"] for each in pods["items"]}
    told = json.loads(
        kubectl("-n", NAMESPACE, "get", "events", "--field-selector=type=Warning", "-o", "json")
    )
    return [each["message"] for each in told["items"] if each["involvedObject"]["uid"] in own]


@pytest.fixture(name="as_the_readme_says")
def _as_the_readme_says(sample, cluster, helm, uninstall):
    as_written("helm install", cluster, helm)
    yield
    uninstall()


def test_readme(cluster, helm, kubectl, uninstall):
    """Install, test, upgrade and uninstall work as written; only the Lease is left."""
    kubectl.run("create", "namespace", NAMESPACE)
    before = objects(kubectl)
    as_written("helm install", cluster, helm)
    assert warnings(kubectl) == []
    assert "one leads" in as_written("helm test", cluster, helm)
    helm(
        "upgrade", "status", str(REPORTER), *IN_NAMESPACE, "--reuse-values",
        "--set=resyncSeconds=30", "--wait",
    )  # fmt: skip
    assert "one leads" in as_written("helm test", cluster, helm)
    assert warnings(kubectl) == []
    uninstall()
    test_pod = "status-status-reporter-test"
    kubectl("-n", NAMESPACE, "delete", "pod", test_pod)
    left = {each for each in objects(kubectl) - before if "status" in each}
    assert left <= {f"Lease/{EVENT_NAMESPACE}/{COMPONENT}"}


async def test_everything_restarts_at_once(as_the_readme_says, stage, kubectl, models, observer):
    """With the chart's own times, nothing is reported while all pods of the stack are replaced."""

    async def ready() -> bool:
        told = {each.key.reason for each in observer.versions}
        return {"clusterReady", "modelharnessReady", "inferencesetReady"} <= told

    await until(ready, "all is told to be ready")
    for namespace in json.loads(kubectl("get", "namespaces", "-o", "json"))["items"]:
        name = namespace["metadata"]["name"]
        kubectl("-n", name, "rollout", "restart", "deployments,statefulsets")
    for namespace in (NAMESPACE, models):
        await stage.stack.settled(namespace)
    await all_is_well(stage)
    assert [str(each.key) for each in observer.versions if each.live] == []


def test_one_cluster_at_a_time(cluster):
    """A second cluster is refused: it would have the address, cgroup and folder of the first."""
    with pytest.raises(EnvtestError, match="a cluster runs already"):
        take_lock(cluster.folder)
