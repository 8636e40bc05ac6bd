"""Our Events on the objects of workloads, on the real API server, with the chart's permissions."""

import pytest
import yaml

from e2e.envtest.audit import Grant, granted, requests, unused
from e2e.envtest.release import REPORTER
from e2e.stack.api import ApiError
from tests.daemon.replica import until

LABEL = "status-reporter.io/mirror"
MODEL = "llama-3-1-8b"
POD = f"{MODEL}-9t7dl-0"
PULL = "inferencesetModelPodsNotReady"
READY = "inferencesetReady"
CODES = {"Forbidden": 403, "Invalid": 422}
"""The policies, by the reason of their refusal."""


@pytest.fixture(name="mirroring")
def _mirroring(another, replica):
    """A function that starts a mirroring replica with the chart's permissions."""
    releases = []

    async def start(name="replica-a", **settings):
        if not releases:
            releases.append((await another("mirror", REPORTER, {"mirrorToWorkload": True}))[0])
        daemon = await replica(name, release=releases[0], **settings)
        return await daemon.ready(), releases[0]

    return start


async def mirrors(stage, namespace, reason="", state=""):
    """Return the mirrors on a model: of a reason, in a state, or all."""
    found = await stage.api.items("events", namespace=namespace, selector=LABEL)
    return [
        each
        for each in found
        if reason in ("", each["reason"])
        and each["involvedObject"]["name"] == MODEL
        and state in ("", each["metadata"]["labels"][LABEL])
    ]


@pytest.fixture(name="asked")
def _asked(plane):
    """Return a function for replicas' later requests about Events outside of kube-system.

    Lists are left out: Events of others about a pod at fault are read too.
    """
    start = plane.audit_log.stat().st_size

    def since():
        return [
            each
            for each in requests(plane.audit_log, since=start)
            if each.user.startswith("system:serviceaccount:")
            and each.resource == "events"
            and each.namespace != "kube-system"
            and each.verb != "list"
        ]

    return since


def pull(stage, namespace, *, fails=True):
    return stage.stack.image_pull(namespace, POD, fails=fails)


async def told(stage, namespace):
    return await stage.told(PULL, f"inferenceset/{namespace}/{MODEL}")


async def mirrored(stage, namespace, reason, state="firing"):
    (found,) = await until(
        lambda: mirrors(stage, namespace, reason, state), f"{reason} is mirrored"
    )
    return found


async def test_kubectl_describe_tells_the_owner_of_a_model(
    stage, workload, mirroring, asked, plane, kubectl
):
    """The chart grants `create` and `patch`; both are needed, and no Event is read."""
    start = plane.audit_log.stat().st_size
    daemon, release = await mirroring()
    await pull(stage, workload)
    event = await told(stage, workload)
    mirror = await mirrored(stage, workload, PULL)
    same = ("type", "reason", "message", "source", "reportingComponent", "eventTime", "action")
    assert [mirror[each] for each in same] == [event[each] for each in same]

    shown = kubectl("describe", "inferenceset", MODEL, "-n", workload).partition("\nEvents:")[2]
    (line,) = [each for each in shown.splitlines() if PULL in each]
    assert line.split()[0] == "Warning"
    assert "productionstack-status-reporter" in line
    assert event["message"] in line

    await pull(stage, workload, fails=False)
    over = await mirrored(stage, workload, PULL, "over")
    assert over["metadata"]["uid"] == mirror["metadata"]["uid"]
    await until(lambda: mirrors(stage, workload, READY), "ready again")
    assert {each.verb for each in asked()} == {"patch"}
    assert all(each.allowed and each.code < 300 for each in asked())

    async def are_counted():
        return await daemon.metric("mirror_writes_total", outcome="written") == len(asked())

    await until(are_counted, "each write is counted once")
    everywhere = {Grant(verb, "events", "", "") for verb in ("create", "patch")}
    assert everywhere <= granted(kubectl, release.name)
    assert unused(everywhere, requests(plane.audit_log, await release.user(), since=start)) == set()


POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-events}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], resources: [events], operations: [CREATE, UPDATE]}
  validations: [{expression: 'false', reason: REASON, message: no Events here}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-events}
spec:
  policyName: no-events
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}}
"""


@pytest.fixture(name="policy")
async def _policy(stage, workload):
    """A function that lets the cluster refuse the workload's Events: `await policy("Invalid")`."""
    made = []

    async def refuse(reason):
        text = POLICY.replace("REASON", reason).replace("NAMESPACE", workload)
        made.extend([await stage.api.create(each) for each in yaml.safe_load_all(text)])
        probe = {"apiVersion": "v1", "kind": "Event"}
        probe["metadata"] = {"generateName": "x", "namespace": workload}
        probe["involvedObject"] = {"kind": "Pod", "namespace": workload}

        async def is_in_force():
            try:
                await stage.api.create(probe)
            except ApiError as error:
                return error.code == CODES[reason]
            return False

        await until(is_in_force, "the policy is in force")

    yield refuse
    for each in reversed(made):
        await stage.api.delete((await stage.api.resource_of(each)).name, "no-events")


@pytest.mark.parametrize("reason", CODES)
async def test_a_namespace_that_takes_no_events_costs_nobody_else_anything(
    stage, workload, mirroring, asked, policy, reason
):
    """It is logged once; Events in kube-system and other mirrors are still written."""
    roomy = await stage.workload(f"{workload[:30]}-roomy")
    await policy(reason)
    daemon, _ = await mirroring(f"refused-{reason.lower()}")
    for namespace in (workload, roomy):
        await pull(stage, namespace)
        await told(stage, namespace)
    await mirrored(stage, roomy, PULL)

    async def refused():
        return await daemon.metric("mirror_writes_total", outcome="refused")

    await until(refused, "the policy refuses")
    (line,) = daemon.lines("mirror_not_written")
    assert line["namespace"] == workload
    assert "no Events here" in line["error"]
    assert await mirrors(stage, workload) == []
    tries = [each for each in asked() if each.namespace == workload]
    assert len(tries) <= 3
    assert {each.code for each in tries} == {CODES[reason]}
