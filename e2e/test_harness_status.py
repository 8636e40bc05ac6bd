"""Faults of the entrance of a workload namespace: one Event, closed after the repair."""

import pytest

CLASSES = "gatewayclasses.gateway.networking.k8s.io"
GATEWAYS = "gateways.gateway.networking.k8s.io"
NETWORK_POLICIES = "ciliumnetworkpolicies.cilium.io"


async def class_refused(stage, _namespace):
    no = ("Accepted", "False", "InvalidParameters", "the parameters do not exist")
    await stage.stack.condition(CLASSES, "", "istio", says=no)


async def not_programmed(stage, namespace):
    no = ("Programmed", "False", "AddressNotUsable", "the Service of the Gateway has no port 80")
    await stage.stack.condition(GATEWAYS, namespace, f"{namespace}-gw", says=no)


async def data_plane_crashes(stage, namespace):
    crash = ("CrashLoopBackOff", "back-off 40s restarting failed container")
    await stage.stack.pod_waiting(namespace, f"{namespace}-gw-istio", crash, restarts=3)


async def provider_gone(stage, namespace):
    policy = {
        "apiVersion": "security.istio.io/v1",
        "kind": "AuthorizationPolicy",
        "metadata": {"name": "ext-authz", "namespace": namespace},
        "spec": {"action": "CUSTOM", "provider": {"name": "otel"}, "rules": [{}]},
    }
    await stage.api.create(policy)
    mesh = {"data": {"mesh": "extensionProviders: []"}}
    await stage.api.patch("configmaps", "istio", mesh, namespace="istio-system")


async def key_refused(stage, namespace):
    no = ("Ready", "False", "SecretExists", "the Secret exists already")
    await stage.stack.condition("apikeys.kaito.sh", namespace, "default", says=no)


async def network_policy_names_nobody(stage, namespace):
    key = "k8s:io.kubernetes.pod.namespace"
    sources = [{"matchLabels": {key: name}} for name in ("keda", "nowhere")]
    patch = {"spec": {"ingress": [{"fromEndpoints": sources}]}}
    await stage.api.patch(NETWORK_POLICIES, "inference-pods-ingress", patch, namespace=namespace)


GATEWAY = ("Gateway", "{}-gw")
DATA_PLANE = ("Deployment", "{}-gw-istio")
KEY = ("APIKey", "default")
INGRESS = ("CiliumNetworkPolicy", "inference-pods-ingress")

FAULTS = (
    (class_refused, "GatewayClassMissing", GATEWAY,
     "which is not accepted: InvalidParameters: the parameters do not exist"),
    (not_programmed, "GatewayProgrammingFailed", GATEWAY,
     "could not be programmed: AddressNotUsable: the Service of the Gateway has no port 80"),
    (data_plane_crashes, "GatewayDataPlaneNotReady", DATA_PLANE,
     "has no ready pod: CrashLoopBackOff"),
    (provider_gone, "ExtAuthzProviderMissing", ("AuthorizationPolicy", "ext-authz"),
     "names the provider otel, which the mesh configuration does not define"),
    (key_refused, "APIKeyReconcileFailed", KEY,
     "was not reconciled: SecretExists: the Secret exists already"),
    (network_policy_names_nobody, "NetworkPolicyMisconfigured", INGRESS,
     "names namespaces that do not exist: nowhere"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "reason", "related", "says"),
    [pytest.param(*row, id=row[0].__name__) for row in FAULTS],
)
async def test_fault(stage, workload, replica, fault, reason, related, says):
    """One Event names the object at fault; once that is repaired, it is over and all is ready."""
    subject = f"namespace/{workload}"
    await fault(stage, workload)
    await replica()
    event = await stage.told(f"modelharness{reason}", subject)
    assert says in event["message"]
    kind, name = related
    at_fault = name.format(workload)
    assert f"{kind} {workload}/{at_fault}" in event["message"]
    assert (event["related"]["kind"], event["related"]["name"]) == (kind, at_fault)
    assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == (
        "Namespace",
        workload,
    )
    assert await stage.firing() == {(f"modelharness{reason}", subject)}

    await stage.mend(workload)
    over = await stage.told(f"modelharness{reason}", subject, state="over")
    assert over["metadata"]["uid"] == event["metadata"]["uid"]
    await stage.told("modelharnessReady", subject, state="over")
