"""What is wrong with the entrance of a workload namespace: told by one Event, and taken back."""

import pytest

from e2e.stack.times import now

CLASSES = "gatewayclasses.gateway.networking.k8s.io"
GATEWAYS = "gateways.gateway.networking.k8s.io"
FILTERS = "envoyfilters.networking.istio.io"
NETWORK_POLICIES = "ciliumnetworkpolicies.cilium.io"


async def class_missing(stage, namespace):
    await stage.api.delete(CLASSES, "istio")


async def class_refused(stage, _namespace):
    no = ("Accepted", "False", "InvalidParameters", "the parameters do not exist")
    await stage.stack.condition(CLASSES, "", "istio", says=no)


async def class_not_taken_up(stage, namespace):
    waits = ("Accepted", "Unknown", "Pending", "Waiting for controller")
    await stage.stack.condition(GATEWAYS, namespace, f"{namespace}-gw", says=waits)


async def not_programmed(stage, namespace):
    no = ("Programmed", "False", "AddressNotUsable", "the Service of the Gateway has no port 80")
    await stage.stack.condition(GATEWAYS, namespace, f"{namespace}-gw", says=no)


async def listener_conflicts(stage, namespace):
    conflict = {
        "type": "Conflicted",
        "status": "True",
        "reason": "HostnameConflict",
        "message": "another listener has the same hostname",
        "lastTransitionTime": now(),
    }
    listener = {"name": "http", "attachedRoutes": 0, "supportedKinds": [], "conditions": [conflict]}
    status = {"listeners": [listener]}
    await stage.stack.status(GATEWAYS, namespace, f"{namespace}-gw", status=status)


async def data_plane_crashes(stage, namespace):
    crash = ("CrashLoopBackOff", "back-off 40s restarting failed container")
    await stage.stack.pod_waiting(namespace, f"{namespace}-gw-istio", crash, restarts=3)


async def data_plane_scaled_to_zero(stage, namespace):
    await stage.stack.scale(namespace, f"{namespace}-gw-istio", 0)


async def authorization_service_gone(stage, _namespace):
    await stage.api.delete("services", "apikey-authz", namespace="llm-gateway-auth")


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


async def key_expired(stage, namespace):
    status = {"phase": "Expired", "conditions": []}
    await stage.stack.status("apikeys.kaito.sh", namespace, "default", status=status)


async def filter_selects_nobody(stage, namespace):
    other = {"gateway.networking.k8s.io/gateway-name": "other"}
    patch = {"spec": {"workloadSelector": {"labels": other}}}
    await stage.api.patch(FILTERS, "model-not-found-direct", patch, namespace=namespace)


async def network_policy_names_nobody(stage, namespace):
    key = "k8s:io.kubernetes.pod.namespace"
    sources = [{"matchLabels": {key: name}} for name in ("keda", "nowhere")]
    patch = {"spec": {"ingress": [{"fromEndpoints": sources}]}}
    await stage.api.patch(NETWORK_POLICIES, "inference-pods-ingress", patch, namespace=namespace)


async def network_policy_shuts_the_scaler_out(stage, namespace):
    patch = {"spec": {"ingress": [{"fromEndpoints": [{}]}]}}
    await stage.api.patch(NETWORK_POLICIES, "inference-pods-ingress", patch, namespace=namespace)


GATEWAY = ("Gateway", "{}-gw")
DATA_PLANE = ("Deployment", "{}-gw-istio")
KEY = ("APIKey", "default")
CATCH_ALL = ("EnvoyFilter", "model-not-found-direct")
INGRESS = ("CiliumNetworkPolicy", "inference-pods-ingress")

FAULTS = (
    (class_missing, "GatewayClassMissing", GATEWAY,
     "has the class istio, which does not exist"),
    (class_refused, "GatewayClassMissing", GATEWAY,
     "which is not accepted: InvalidParameters: the parameters do not exist"),
    (class_not_taken_up, "GatewayClassMissing", GATEWAY,
     "which no controller has accepted: Accepted is Unknown (Pending)"),
    (not_programmed, "GatewayProgrammingFailed", GATEWAY,
     "could not be programmed: AddressNotUsable: the Service of the Gateway has no port 80"),
    (listener_conflicts, "GatewayProgrammingFailed", GATEWAY,
     "could not be programmed: listener http: Conflicted is True, HostnameConflict"),
    (data_plane_crashes, "GatewayDataPlaneNotReady", DATA_PLANE,
     "has no ready pod: CrashLoopBackOff"),
    (data_plane_scaled_to_zero, "GatewayDataPlaneNotReady", DATA_PLANE,
     "has no ready pod: scaled to zero"),
    (authorization_service_gone, "ExtAuthzProviderMissing", ("EnvoyFilter", "apikey-ext-authz"),
     "sends requests to Service llm-gateway-auth/apikey-authz, which does not exist"),
    (provider_gone, "ExtAuthzProviderMissing", ("AuthorizationPolicy", "ext-authz"),
     "names the provider otel, which the mesh configuration does not define"),
    (key_refused, "APIKeyReconcileFailed", KEY,
     "was not reconciled: SecretExists: the Secret exists already"),
    (key_expired, "APIKeyReconcileFailed", KEY, "is expired"),
    (filter_selects_nobody, "CatchAllFilterRejected", CATCH_ALL,
     "selects no pod of the Gateway"),
    (network_policy_names_nobody, "NetworkPolicyMisconfigured", INGRESS,
     "names namespaces that do not exist: nowhere"),
    (network_policy_shuts_the_scaler_out, "NetworkPolicyMisconfigured", INGRESS,
     "does not admit namespace keda, where keda-kaito-scaler runs"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "reason", "related", "says"),
    [pytest.param(*row, id=row[0].__name__) for row in FAULTS],
)
async def test_fault(stage, workload, replica, fault, reason, related, says):
    """One Event names the object at fault; once that is mended it is over and all is ready."""
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


async def test_rejected_filter_is_over_once_it_is_deleted(stage, workload, replica):
    """Istio's analysis names a code; an object that is gone is no fault."""
    key = ("modelharnessCatchAllFilterRejected", f"namespace/{workload}")
    said = {"level": "ERROR", "documentationUrl": "https://istio.example/docs/ist0101/"}
    name = "model-not-found-direct"
    await stage.stack.status(FILTERS, workload, name, status={"validationMessages": [said]})
    await replica()
    message = (await stage.told(*key))["message"]
    assert message == f"EnvoyFilter {workload}/{name} was rejected by Istio (IST0101)"
    await stage.api.delete(FILTERS, name, namespace=workload)
    await stage.told(*key, state="over")


async def test_several_faults_of_a_namespace_are_one_cause(stage, workload, replica):
    """The highest of the chain is told and names the others; mended, the next one is told."""
    subject = f"namespace/{workload}"
    for fault in (not_programmed, key_refused, filter_selects_nobody):
        await fault(stage, workload)
    daemon = await replica()
    event = await stage.told("modelharnessGatewayProgrammingFailed", subject)
    assert event["message"].endswith(
        " (also: modelharnessAPIKeyReconcileFailed: SecretExists, "
        "modelharnessCatchAllFilterRejected: selector matches no Gateway pod)"
    )
    assert event["metadata"]["labels"]["status-reporter.io/primary"] == "true"
    dispositions = await daemon.dispositions()
    assert dispositions[("modelharnessAPIKeyReconcileFailed", subject)] == "secondary"
    assert dispositions[("modelharnessCatchAllFilterRejected", subject)] == "secondary"
    assert len(await stage.firing()) == 1

    yes = ("Programmed", "True", "Programmed", "programmed")
    await stage.stack.condition(GATEWAYS, workload, f"{workload}-gw", says=yes)
    event = await stage.told("modelharnessAPIKeyReconcileFailed", subject)
    assert "(also: modelharnessCatchAllFilterRejected" in event["message"]
    await stage.told("modelharnessGatewayProgrammingFailed", subject, state="over")
    assert len(await stage.firing()) == 1
    assert not await stage.events(("modelharnessReady", subject))
