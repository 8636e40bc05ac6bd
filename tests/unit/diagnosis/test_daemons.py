"""What runs once per node and is not there, volumes that no node reaches, what a node refuses."""

from dataclasses import replace

import pytest

from reporter.catalogue.resources import CLAIMS, PODS, STATEFULSETS
from reporter.catalogue.resources import NODES as NODES_TABLE
from reporter.diagnosis import daemons, devices, storage
from reporter.diagnosis.fit import has_accelerator
from reporter.diagnosis.pod import diagnose
from reporter.diagnosis.scheduling import why_unscheduled
from reporter.model.finding import Diagnosis
from reporter.stacks.settings import FullEvaluationSettings
from reporter.stacks.workloads.probes import PROBES as WORKLOADS
from tests.unit.diagnosis.building import GPU, cluster, event, node, placed, waiting
from tests.unit.probes.asking import asked, scope
from tests.unit.probes.building import condition, deployment, document, merged, pod, snapshot_of

SAID = (
    "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, "
    "1 node(s) didn't match Pod's node affinity/selector. preemption: x"
)
PARTED = "0/2 nodes are available: 2 node(s) had volume node affinity conflict. preemption: x"
ZONE = "topology.kubernetes.io/zone"


def plugin(name="nvidia-device-plugin", image="nvcr.io/nvidia/k8s-device-plugin:v0.17", **spec):
    """The DaemonSet of a device plugin, without pods."""
    template = {"spec": {"containers": [{"name": "c", "image": image}], **spec}}
    status = {"desiredNumberScheduled": 1, "currentNumberScheduled": 0}
    return document("DaemonSet", name, "ns", {"spec": {"template": template}, "status": status})


POOL = {"pool": "gpu"}
NODE = node("a", labels=POOL)
TAINTED = node("a", labels=POOL, taints=["gpu=yes:NoSchedule"])
TOLERATES = [{"operator": "Exists"}]
ASKS = waiting(SAID, 1, nodeSelector=POOL, tolerations=TOLERATES)
OLD = {"nodeSelector": {"accelerator": "old"}}

DAEMONS = {
    "a taint": ([TAINTED, plugin()], [], "DaemonSet ns/nvidia-device-plugin, does not tolerate the taint gpu"),
    "a label": ([NODE, plugin(**OLD)], [], "does not select it: a lacks the label accelerator=old"),
    "labels of one of several prove nothing": ([NODE, plugin(**OLD), plugin("nvidia-2", **OLD)], [], ""),
    "one of another vendor": ([TAINTED, plugin("amd", image="rocm/k8s-device-plugin")], [], ""),
    "one that is not of devices": ([TAINTED, plugin("cni", image="x/cni:1")], [], ""),
    "refused pods": (
        [NODE, plugin(tolerations=TOLERATES)],
        [event("DaemonSet nvidia-device-plugin", "FailedCreate",
               'Error creating: pods "nvidia-device-plugin-" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes (volume "d")',
               component="daemonset-controller", type_="Warning")],
        "cannot make its pods: Pod Security baseline:latest",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAEMONS)
def test_why_a_device_plugin_is_not_on_a_node(name):
    """Only of a plugin that could offer what the pod asks for."""
    docs, events, words = DAEMONS[name]
    snapshot = cluster(ASKS, node("cpu"), *docs, events=events)
    found = why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot)
    assert words in found.cause
    assert bool(words) == ("DaemonSet" in found.cause)


def test_the_driver_of_a_node_without_devices_is_looked_into():
    """Its log says why the devices are missing, which no pod that waits for them can."""
    labels = {"app": "nvidia-driver-daemonset"}
    driver = placed("nvidia-driver-x", "a", ready=False, labels=labels, namespace="gpu-operator")
    others = placed("web", "a", ready=False, namespace="gpu-operator")
    snapshot = cluster(ASKS, node("cpu"), NODE, driver, others)
    found = why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot)
    assert [each.name for each in devices.behind(found, snapshot)] == ["nvidia-driver-x"]


AMD = "amd.com/gpu"
WAITS_FOR_AMD = waiting(
    f"0/1 nodes are available: 1 Insufficient {AMD}. preemption: x",
    containers=[{"name": "c", "resources": {"requests": {AMD: "1"}}}],
)
OF_MODULE = "kmm.node.kubernetes.io/module.name"


@pytest.mark.parametrize(
    ("namespace", "module", "phase", "words"),
    [
        ("ns", "amd", "Failed", "what loads kernel module amd there (ns/kmm-worker) is not Ready"),
        ("ns", "amd", "Succeeded", "does not select it: a lacks the label kmm"),
        ("ns", "nfs", "Failed", "does not select it: a lacks the label kmm"),
        ("other", "amd", "Failed", "does not select it: a lacks the label kmm"),
    ],
)
def test_a_module_that_the_device_plugin_waits_for(namespace, module, phase, words):
    """Pods of other modules, and of other namespaces, are none of its business."""
    worker = placed(
        "kmm-worker", "a", ready=False, labels={OF_MODULE: module}, phase=phase, namespace=namespace
    )
    needs = {"kmm.node.kubernetes.io/ns.amd.ready": ""}
    of = plugin("amd", image="rocm/k8s-device-plugin:1")
    of["spec"]["template"]["spec"]["nodeSelector"] = needs
    labelled = node("a", labels={"feature.node.kubernetes.io/amd-gpu": "true"})
    snapshot = cluster(WAITS_FOR_AMD, labelled, of, worker)
    assert words in why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot).cause


@pytest.mark.parametrize(
    ("resource", "labels", "has"),
    [
        ("aws.amazon.com/neuroncore", {"node.kubernetes.io/instance-type": "inf2.xlarge"}, True),
        ("aws.amazon.com/neuron", {"node.kubernetes.io/instance-type": "info.large"}, False),
        ("habana.ai/gaudi", {"feature.node.kubernetes.io/pci-1da3.present": "true"}, True),
        ("gpu.intel.com/i915", {"intel.feature.node.kubernetes.io/gpu": "true"}, True),
        ("gpu.intel.com/i915", {"intel.feature.node.kubernetes.io/gpu": "false"}, False),
        ("google.com/tpu", {"cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice"}, True),
        ("amd.com/gpu", {"nvidia.com/gpu.present": "true"}, False),
    ],
)
def test_a_node_that_has_devices_of_a_vendor(resource, labels, has):
    snapshot = cluster(node("a", labels=labels))
    assert has_accelerator(snapshot[NODES_TABLE].get("", "a"), resource) is has


def bound(claim, volume, zone):
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
    yield document(
        "PersistentVolumeClaim", claim, "ns",
        {"spec": {"volumeName": volume}, "status": {"phase": "Bound"}},
    )  # fmt: skip
    affinity = {"required": {"nodeSelectorTerms": terms}}
    yield document("PersistentVolume", volume, "", {"spec": {"nodeAffinity": affinity}})


NODES = [node("a", labels={ZONE: "a"}), node("b", labels={ZONE: "b"})]

VOLUMES = {
    "in two zones": (
        [*bound("c", "pv-1", "a"), *bound("d", "pv-2", "b")],
        "no node reaches all its volumes: pv-1 (claim c) is in topology.kubernetes.io/zone=a and pv-2 (claim d) is in",
    ),
    "in one zone without nodes": (
        [*bound("c", "pv-1", "z"), *bound("d", "pv-2", "z")], "cannot reach its volume pv-1 (claim c)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", VOLUMES)
def test_volumes_that_no_node_reaches(name):
    docs, words = VOLUMES[name]
    snapshot = cluster(waiting(PARTED, claims=["c", "d"]), *NODES, *docs)
    assert words in why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot).cause


@pytest.mark.parametrize("others", [0, 1, 2])
def test_a_claim_that_is_in_another_namespace(others):
    """One of the name elsewhere is the one that was meant; of several nobody knows."""
    claims = [document("PersistentVolumeClaim", "c", f"other-{i}") for i in range(others)]
    gone = waiting('persistentvolumeclaim "c" not found', claims=["c"])
    snapshot = cluster(gone, node("a"), *claims)
    found = why_unscheduled(snapshot[PODS].get("ns", "m"), snapshot)
    assert ("other-0 has one of that name" in found.cause) == (others == 1)


FULL = "Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}"


@pytest.mark.parametrize(
    ("amounts", "words"),
    [
        (("memory", 2 << 30, 30 << 30, 31 << 30), "has 31Gi memory, of which 30Gi are used: 2Gi"),
        (("cpu", 500, 3900, 4000), "has 4 cpu, of which 3.9 are used: 500m"),
        ((GPU, 4, 8, 8), "has 8 nvidia.com/gpu, of which 8 are used: 4"),
    ],
)
@pytest.mark.parametrize("by", ["", "kai-scheduler"])
def test_a_node_that_has_less_than_the_scheduler_thought(amounts, words, by):
    """The kubelet counts bytes, and thousandths of processors."""
    refused = placed("m", "a", phase="Failed")
    conditions = [condition("PodScheduled", "True")] if by else []
    told = {"reason": "OutOf", "message": FULL.format(*amounts), "conditions": conditions}
    snapshot = cluster(merged(refused, {"spec": {"schedulerName": by}, "status": told}))
    found = diagnose(snapshot[PODS].get("ns", "m"), snapshot)
    assert words in found.cause
    assert ("kai-scheduler placed it there" in found.cause) == bool(by)
    assert ("by hand" in found.action) == (not by)


def engine(name, **labels):
    """A Deployment of vLLM whose pods have labels."""
    spec = {"containers": [{"name": "main", "image": "vllm/vllm-openai:v0.10"}]}
    return deployment(
        "ns", name, {"spec": {"template": {"metadata": {"labels": labels}, "spec": spec}}}
    )


def service(name, **selector):
    return document(
        "Service", name, "ns", {"spec": {"selector": selector, "ports": [{"port": 80}]}}
    )


CHAT = [
    engine("chat", app="chat"),
    pod("ns", "chat-1", "chat", {"spec": {"containers": [{"name": "main", "image": "vllm/vllm-openai:v0.10"}]}}),
]  # fmt: skip
SERVICES = {
    "selects other labels": ([service("chat-service", app="chta")], "selects no pod: it asks for app=chta, and the pods of chat have app=chat"),
    "is named otherwise": ([service("web", app="web")], ""),
    "selects another workload, scaled to zero": ([service("chat", app="web"), engine("web", app="web")], ""),
    "has a right one beside it": ([service("chat-service", app="chta"), service("chat", app="chat")], ""),
    "is written by hand": ([service("chat")], ""),
}  # fmt: skip


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_that_selects_no_pod(name):
    """Only its name says whose it is, so it is judged if nothing else leads to the pods."""
    docs, words = SERVICES[name]
    found = asked(WORKLOADS.subjects, scope(snapshot_of(*CHAT, *docs), FullEvaluationSettings()))
    said = "; ".join(each.message for each in found.findings)
    assert (words in said) if words else "selects no pod" not in said


def test_a_route_of_another_namespace_to_a_service_that_does_not_exist():
    """Any tenant can name a Service of another one, and a ReferenceGrant permits it."""
    to_chat = {"rules": [{"backendRefs": [{"name": "chat", "namespace": "ns"}]}]}
    said = {}
    for place, refs in (
        ("ns", "RefNotPermitted"),
        ("tenant", "RefNotPermitted"),
        ("shared", "BackendNotFound"),
    ):
        conditions = [condition("Accepted", "True"), condition("ResolvedRefs", "False", refs)]
        accepted = {"parents": [{"parentRef": {"name": "gw"}, "controllerName": "c", "conditions": conditions}]}  # fmt: skip
        route = document("HTTPRoute", "r", place, {"spec": to_chat, "status": accepted})
        of = scope(snapshot_of(*CHAT, route), FullEvaluationSettings())
        found = asked(WORKLOADS.subjects, of).findings
        said[place] = "; ".join(each.message for each in found)
    assert "leads to Service chat, which does not exist" in said["ns"]
    assert "leads to Service chat, which does not exist" in said["shared"]
    assert "HTTPRoute" not in said["tenant"]


def test_services_while_deployments_are_not_all_known():
    """One that selects no pod may be of a Deployment that is scaled to zero."""
    snapshot = snapshot_of(*CHAT, service("chat-service", app="chta"))
    partial = replace(snapshot, incomplete={str(STATEFULSETS): "forbidden"})
    found = asked(WORKLOADS.subjects, scope(partial, FullEvaluationSettings())).findings
    assert "selects no pod" not in "; ".join(each.message for each in found)


def test_a_processor_in_an_image_is_no_vendor():
    assert "amd" not in daemons.vendors("nvidia-gpu-device-plugin-amd64")


@pytest.mark.parametrize(
    ("place", "name", "count"),
    [
        ("kube-system", "hostpath-provisioner-a", 1),
        ("hostpath", "hostpath-provisioner-a", 1),
        ("tenant", "hostpath-provisioner-a", 0),
        ("kube-system", "aws-load-balancer", 0),
    ],
)
def test_pods_of_a_provisioner(place, name, count):
    """Tenants name their pods as they like."""
    unplaced = {"status": {"conditions": [condition("PodScheduled", "False", "Unschedulable")]}}
    snapshot = cluster(
        document("PersistentVolumeClaim", "c", "ns", {"spec": {"storageClassName": "s"}}),
        document("StorageClass", "s", "", {"provisioner": "aws.io/hostpath"}),
        document("Pod", name, place, unplaced),
    )
    of = CLAIMS.ref(snapshot[CLAIMS].get("ns", "c"))
    found = Diagnosis(storage.SLOW, "x", "x", object=of)
    assert len([*storage.helpers(found, snapshot)]) == count


def test_daemonsets_that_a_tenant_could_make():
    """Thousands of device plugins, or of tolerations, are not examined for each pod that waits."""
    many = cluster(ASKS, TAINTED, *(plugin(f"device-plugin-{i}") for i in range(200)))
    assert len([*daemons.short_of_pods(many)]) <= 30
    tolerations = [{"key": f"k{i}", "operator": "Exists"} for i in range(500)]
    of = cluster(ASKS, node("cpu"), TAINTED, plugin(tolerations=tolerations))
    found = why_unscheduled(of[PODS].get("ns", "m"), of)
    assert "DaemonSet" not in found.cause


def test_a_tenant_is_no_driver_of_storage():
    """Its DaemonSet may have the arguments of one; in the namespaces of models none is meant."""
    args = ["--kubelet-registration-path=/var/lib/kubelet/plugins/efs.csi.aws.com/csi.sock"]
    spec = {"template": {"spec": {"containers": [{"name": "registrar", "args": args}]}}}
    made = [document("DaemonSet", "efs", place, {"spec": spec}) for place in ("ns", "tenant")]
    model = document("InferenceSet", "m", "tenant", {"spec": {"replicas": 1}})
    found = daemons.of_driver("efs.csi.aws.com", cluster(*made, model))
    assert found is not None
    assert found.namespace == "ns"
