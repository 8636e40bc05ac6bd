"""Messages of kubelet, scheduler, Istio and KEDA have long words that are not credentials."""

import pytest

from reporter.model.credentials import without_credentials

MESSAGES = (
    "Back-off restarting failed container {container} in pod {pod}_{namespace}({uid})",
    'Back-off pulling image "{image}"',
    'Failed to pull image "{image}": rpc error: code = NotFound desc = failed to pull and unpack image "{image}": not found',
    'Error: secret "{secret}" not found',
    "Error: couldn't find key token in Secret {namespace}/{secret}",
    'MountVolume.SetUp failed for volume "kube-api-access-{hash}" : configmap "kube-root-ca.crt" not found',
    'AttachVolume.Attach failed for volume "pvc-{uid}" : rpc error: code = FailedPrecondition desc = volume is in use',
    'Multi-Attach error for volume "pvc-{uid}" Volume is already used by pod(s) {pod}',
    'Readiness probe failed: Get "http://10.244.13.27:8000/health": dial tcp 10.244.13.27:8000: connect: connection refused',
    "Container {container} failed liveness probe, will be restarted",
    'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "{digest}": plugin type="calico" failed (add)',
    'failed to reserve container name "{container}_{pod}_{namespace}_{uid}_3": name is reserved for "{digest}"',
    "The node was low on resource: ephemeral-storage. Threshold quantity: 10737418240, available: 9Gi.",
    'OCI runtime create failed: runc create failed: unable to start container process: exec: "vllm": executable file not found in $PATH: unknown',
    "Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected",
    "0/12 nodes are available: 3 Insufficient nvidia.com/gpu, 9 node(s) didn't match Pod's node affinity/selector. preemption: 0/12 nodes are available: 12 Preemption is not helpful for scheduling.",
    "0/5 nodes are available: 2 node(s) had untolerated taint {{sku: gpu}}, 3 node(s) had volume node affinity conflict.",
    "Successfully assigned {namespace}/{pod} to {node}",
    'pod has unbound immediate PersistentVolumeClaims: persistentvolumeclaim "{secret}-model-cache" not found',
    'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded on {node}',
    "envoy config: ext_proc cluster outbound|9002||{secret}-epp.{namespace}.svc.cluster.local has no healthy upstream",
    'Failed to assign to any requested addresses: hostname "{secret}-istio.{namespace}.svc.cluster.local" not found',
    'Referenced InferencePool.inference.networking.k8s.io "{namespace}/{secret}" not found',
    "proxyless gRPC listener 0.0.0.0_15008 rejected: Error adding/updating listener(s): duplicate filter envoy.filters.http.ext_authz",
    "gateway {namespace}/{secret} programmed at revision default, node sidecar~10.244.3.7~{pod}.{namespace}~{namespace}.svc.cluster.local",
    'x509: certificate signed by unknown authority (possibly because of "crypto/rsa: verification error" while trying to verify candidate authority certificate "istiod.istio-system.svc")',
    "HTTPRoute {namespace}/{secret}-httproute-7b9c5d6f8 was not accepted: NotAllowedByListeners",
    "ScaledObject {namespace}/{secret} doesn't have correct scaleTargetRef specification",
    'Failed to build scaler for trigger prometheus: error parsing prometheus metadata: no serverAddress given, query sum(rate(vllm:num_requests_waiting{{model_name="{model}"}}[2m]))',
    "the HPA was unable to compute the replica count: unable to get external metric {namespace}/s0-prometheus/&LabelSelector{{MatchLabels:map[string]string{{scaledobject.keda.sh/name: {secret},}},MatchExpressions:[]LabelSelectorRequirement{{}},}}",
    'error getting scale target apps/v1.Deployment {secret}-predictor-00004-deployment: deployments.apps "{secret}-predictor-00004-deployment" not found',
    "Scaler for trigger kubernetes-workload returned 0 for s1-kubernetes-workload-{hash} in {namespace}",
    "ValueError: Model architectures ['Qwen2_5_VLForConditionalGeneration'] of {model} are not supported for now",
    "OSError: {model} is not a local folder and is not a valid model identifier listed on https://huggingface.co/models",
    "torch.OutOfMemoryError: CUDA out of memory on GPU-{uid} (NVIDIA-A100-SXM4-80GB-MIG-3g.40gb)",
    "NodeClaim {secret}-x7k2p not launched: creating instance, LaunchTemplate karpenter.k8s.aws/{digest} refused by InsufficientInstanceCapacity for p5en.48xlarge in us-east-1a (use1-az4)",
    "VMSS aks-gpunp-12345678-vmss: SkuNotAvailable: Standard_ND96isr_H100_v5 in swedencentral, subscription {uid}",
    "Server Sent Error ErrCode:400 for instance i-0a1b2c3d4e5f67890 of Deployment {pod}",
    'Internal error occurred: failed calling webhook "inferenceservice.kserve-webhook-server.pod-mutator": no endpoints available for service "kserve-webhook-server-service"',
    "exceeded quota: gpu-quota-{namespace}, requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8",
)  # fmt: skip
"""Their texts, with placeholders for the names of objects."""

NAMES = (
    {"namespace": "models", "pod": "llama-3-3-70b-6d5f7c9b8d-x2x9z", "container": "kserve-container", "image": "vllm/vllm-openai:v0.11.0", "secret": "hf-token", "hash": "x7k2p", "uid": "3b1c9a7e-1d2f-4a5b-8c6d-0123456789ab", "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "node": "ip-10-0-12-34.ec2.internal", "model": "meta-llama/Llama-3.3-70B-Instruct"},
    {"namespace": "team-a-prod-2", "pod": "deepseek-r1-distill-qwen-32b-w8a8-tp8-0-1", "container": "vllm", "image": "ghcr.io/llm-d/llm-d-cuda@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "secret": "deepseek-r1-32b-fp8-h100x8", "hash": "9qtzz", "uid": "f47ac10b-58cc-4372-a567-0e02b2c3d479", "digest": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae", "node": "aks-gpunp-12345678-vmss00000a", "model": "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"},
    {"namespace": "kaito-workspaces", "pod": "workspace-phi-4-mini-instruct-0", "container": "inference", "image": "mcr.microsoft.com/aks/kaito/kaito-phi-4-mini-instruct:0.0.6", "secret": "phi4mini", "hash": "kk4p8", "uid": "00000000-0000-4000-8000-000000000001", "digest": "fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9", "node": "gke-gpu-l4-pool-2b7c1f0e-x9qz", "model": "microsoft/Phi-4-mini-instruct"},
    {"namespace": "n1", "pod": "qwen3moe-235b-a22b-instruct-2507-fp8-prefill-7c5b4-hq2vn", "container": "storage-initializer", "image": "quay.io/modh/odh-vllm-cuda-rhel9:v2-25-20251015a1b2c3", "secret": "qwen3-235b-a22b-2507", "hash": "abcde", "uid": "c9bf9e57-1685-4c89-bafb-ff5af830be8a", "digest": "baa5a0964d3320fbc0c6a922140453c8513ea24ab8fd0577034804a967248096", "node": "k3s-worker-07", "model": "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8"},
    {"namespace": "default", "pod": "mixtral-8x7b-instruct-v01-awq-0", "container": "server", "image": "lmsysorg/sglang:v0.5.4.post1-cu129-b200", "secret": "s3-creds", "hash": "zz9z9", "uid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "digest": "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b", "node": "node-gpu-h100-01", "model": "TheBloke/Mixtral-8x7B-Instruct-v0.1-AWQ"},
)  # fmt: skip
"""Names as people, Kubernetes and clouds make them."""


@pytest.mark.parametrize("template", MESSAGES)
def test_none_is_changed(template):
    for names in NAMES:
        text = template.format(**names)
        assert without_credentials(text) == text
