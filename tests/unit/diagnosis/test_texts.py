"""What the words of kubelets, runtimes, registries and admission mean, by texts as they are met."""

import pytest

from reporter.diagnosis.case import refusal
from reporter.diagnosis.texts import IMAGES, MOUNTS, NODE_REFUSALS, STARTS, Context, end_of, meaning

PLACE = Context(
    namespace="models", image="registry/vllm:v9", node="gpu-1", container="vllm", limit="16Gi"
)
OCI = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "
CALL = 'Internal error occurred: failed calling webhook "pods.example.com": failed to call webhook: Post "https://hook.tools.svc:443/mutate?timeout=10s": '

SAID = [
    (IMAGES, 'failed to resolve reference "docker.io/a/b:c": docker.io/a/b:c: not found', "image-tag"),
    (IMAGES, "manifest unknown: manifest tagged by v9 is not found", "image-tag"),
    (IMAGES, "no match for platform in manifest: not found", "image-platform"),
    (IMAGES, "pull access denied, repository does not exist or may require authorization", "image-access"),
    (IMAGES, "unexpected status from HEAD request: 401 Unauthorized", "image-access"),
    (IMAGES, "toomanyrequests: You have reached your unauthenticated pull rate limit", "image-rate"),
    (IMAGES, "write /var/lib/containerd/x: no space left on device", "image-disk"),
    (IMAGES, "dial tcp: lookup registry.example.com: no such host", "image-network"),
    (IMAGES, "tls: failed to verify certificate: x509: certificate signed by unknown authority", "image-ca"),
    (IMAGES, "InvalidImageName: couldn't parse image name", "image-name"),
    (STARTS, f'{OCI}exec: "vllm": executable file not found in $PATH: unknown', "program-missing"),
    (STARTS, f'{OCI}exec: "/run.sh": stat /run.sh: no such file or directory: unknown', "program-missing"),
    (STARTS, f'{OCI}exec: "/run.sh": permission denied: unknown', "program-permission"),
    (STARTS, "exec /usr/bin/python: exec format error", "architecture"),
    (STARTS, f"{OCI}error running prestart hook #0: nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file", "gpu-driver"),
    (STARTS, f"{OCI}nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver", "cuda-driver"),
    (STARTS, "failed to inject CDI devices: unresolvable CDI devices runtime.nvidia.com/gpu=all", "cdi"),
    (STARTS, f"{OCI}nvidia-container-cli: device error: GPU-1: unknown device: unknown", "gpu-lost"),
    (STARTS, f"{OCI}container init was OOM-killed (memory limit too low?): unknown", "start-memory"),
    (STARTS, 'secret "hf-token" not found', "object-missing"),
    (STARTS, "couldn't find key token in Secret models/hf-token", "key-missing"),
    (STARTS, "couldn't find key url in ConfigMap models/settings", "key-missing"),
    (STARTS, "container has runAsNonRoot and image will run as root", "run-as-root"),
    (MOUNTS, 'MountVolume.SetUp failed for volume "t" : configmap "templates" not found', "object-missing"),
    (MOUNTS, 'MountVolume.SetUp failed for volume "t" : references non-existent secret key: token', "key-missing"),
    (MOUNTS, 'MountVolume.SetUp failed for volume "m" : hostPath type check failed: /models is not a directory', "host-path"),
    (MOUNTS, "driver name nfs.csi.k8s.io not found in the list of registered CSI drivers", "csi-driver"),
    (MOUNTS, 'MountVolume.SetUp failed for volume "nfs" : mount failed: exit status 32', "nfs"),
    (MOUNTS, 'failed to get sandbox runtime: no runtime for "nvidia" is configured', "runtime-handler"),
    (MOUNTS, 'failed to setup network for sandbox "1f": plugin type="calico" failed (add): connection is unauthorized', "network"),
    (MOUNTS, "failed to assign an IP address to container", "addresses"),
    (NODE_REFUSALS, "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected", "devices-refused"),
    (NODE_REFUSALS, "OutOfnvidia.com/gpu: Node didn't have enough resource: nvidia.com/gpu, requested: 4, used: 8, capacity: 8", "node-full"),
    (NODE_REFUSALS, "Evicted: The node was low on resource: ephemeral-storage. Container vllm was using 57Gi, request is 0", "node-disk"),
    (NODE_REFUSALS, 'Evicted: Usage of EmptyDir volume "cache" exceeds the limit "2Gi".', "own-disk"),
    (NODE_REFUSALS, "TopologyAffinityError: Resources cannot be allocated with Topology locality", "numa"),
]  # fmt: skip

REFUSED = [
    ('pods "a" is forbidden: exceeded quota: q, requested: requests.nvidia.com/gpu=4,pods=1, used: requests.nvidia.com/gpu=6,pods=9, limited: requests.nvidia.com/gpu=8,pods=9', "quota", "ResourceQuota q is used up: asked for requests.nvidia.com/gpu=4,pods=1, used requests.nvidia.com/gpu=6,pods=9, limited requests.nvidia.com/gpu=8,pods=9"),
    ('pods "a" is forbidden: failed quota: q: must specify limits.memory for: vllm', "quota", "ResourceQuota q wants each pod to say limits.memory for: vllm"),
    ('pods "a" is forbidden: [maximum cpu usage per Container is 4, but limit is 8]', "limit-range", "maximum cpu usage per Container is 4, but limit is 8"),
    ('pods "a" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false (container "vllm")', "pod-security", "Pod Security restricted:latest of namespace models refuses it"),
    (f'{CALL}no endpoints available for service "hook"', "webhook-down", "webhook pods.example.com refuses every pod: Service tools/hook has no endpoint"),
    (f'{CALL}service "hook" not found', "webhook-down", "Service tools/hook does not exist"),
    (f"{CALL}context deadline exceeded", "webhook-down", "Service tools/hook fails (context deadline exceeded)"),
    ('admission webhook "validate.kyverno.svc" denied the request: images must come from our registry', "webhook-denies", "images must come from our registry"),
    ("ValidatingAdmissionPolicy 'no-latest' with binding 'b' denied request: tag latest is not allowed", "policy-denies", "ValidatingAdmissionPolicy no-latest refuses it: tag latest is not allowed"),
    ('pods "a" is forbidden: error looking up service account models/sa: serviceaccount "sa" not found', "service-account", "ServiceAccount sa does not exist"),
    ('pods "a" is forbidden: no PriorityClass with name high was found', "priority-class", "PriorityClass high does not exist"),
    ('pod rejected: RuntimeClass "nvidia" not found', "runtime-class", "RuntimeClass nvidia does not exist"),
    ('Pod "a" is invalid: spec.containers[0].image: Required value', "invalid", "its pod template is invalid: spec.containers[0].image: Required value"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "text", "code"), SAID, ids=[each[1][-40:] for each in SAID])
def test_a_text_is_understood(rows, text, code):
    """It means one cause, with nothing left open in its sentences."""
    found = meaning(rows, text, PLACE)
    assert found is not None
    assert found.code == code
    assert "{" not in found.cause + found.action
    assert found.action


@pytest.mark.parametrize(("text", "code", "cause"), REFUSED, ids=[each[1] for each in REFUSED])
def test_a_refusal_is_understood(text, code, cause):
    found = refusal(text, "models")
    assert found is not None
    assert found.code == code
    assert cause in found.cause


def test_a_node_is_the_object_where_it_is_to_be_mended():
    node = meaning(STARTS, "unresolvable CDI devices nvidia.com/gpu=0", PLACE)
    assert str(node.object) == "Node gpu-1"
    secret = meaning(STARTS, 'secret "hf-token" not found', PLACE)
    assert str(secret.object) == "Secret models/hf-token"
    service = refusal(f'{CALL}no endpoints available for service "hook"', "models")
    assert str(service.object) == "Service tools/hook"


def test_a_text_is_quoted_from_its_end():
    """Each layer puts its own words in front."""
    assert end_of(f"{OCI}the thing that went wrong: unknown", 60) == (
        "unable to start container process: the thing that went wrong"
    )
    assert len(end_of("x" * 5_000)) <= 160


def test_a_text_that_nobody_knows_means_nothing():
    assert meaning(STARTS, "something else entirely", PLACE) is None
    assert refusal(None, "models") is None


def test_a_long_text_takes_no_long_time():
    """What anybody writes is bounded: both ends are looked at."""
    text = "failed to resolve reference " + "a: " * 100_000 + "exec format error"
    assert meaning(STARTS, text, PLACE).code == "architecture"
