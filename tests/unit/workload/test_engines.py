"""Which containers are servers of models."""

import msgspec
import pytest

from reporter.model.objects import PodTemplate
from reporter.workload.engines import engines_of


@pytest.mark.parametrize(
    ("container", "is_engine"),
    [
        ({"image": "vllm/vllm-openai:v0.11.0"}, True),
        ({"image": "registry.example:5000/llm-d/llm-d-cuda@sha256:00"}, True),
        ({"image": "python:3.12", "command": ["python", "-m", "sglang.launch_server"]}, True),
        ({"image": "a/b", "command": ["bash", "-c"], "args": ["exec vllm serve org/model"]}, True),
        ({"image": "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.14"}, True),
        ({"image": "registry.example/mirror/nim/meta/llama3-8b:1"}, True),
        ({"image": "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc27"}, True),
        ({"image": "intel/llm-scaler-omni:0.1.0-b7"}, True),
        ({"image": "ghcr.io/huggingface/text-embeddings-inference:cpu-1.8"}, True),
        ({"image": "llamacpp-llama3-8b-instruct-bartowski-q5km:latest"}, True),
        ({"image": "xprobe/xinference:v1.4.0"}, True),
        ({"image": "localai/localai:latest-aio-cpu"}, True),
        ({"image": "quay.io/go-skynet/local-ai:v2.9.0"}, True),
        ({"image": "kserve/huggingfaceserver:v0.15.0-gpu"}, True),
        (
            {"image": "nvcr.io/nvidia/tritonserver:24.10-py3-sdk", "command": ["sleep", "inf"]},
            False,
        ),
        ({"image": "vllm/vllm-openai", "command": ["sleep"], "args": ["infinity"]}, False),
        ({"image": "nvcr.io/nvidia/cloud-native/k8s-nim-operator:v2.0.1"}, False),
        ({"image": "lmcache/lmstack-router:v0.1.7"}, False),
        ({"image": "vllm/vllm-openai", "command": ["lmcache_server", "0.0.0.0"]}, False),
        ({"image": "lmcache/vllm-openai", "command": ["lmcache_experimental_server"]}, False),
        ({"image": "vllm/vllm-openai", "args": ["vllm bench serve --model a"]}, False),
        ({"image": "ghcr.io/llm-d/llm-d-inference-scheduler:v0.3.2"}, False),
        ({"image": "nginx:1"}, False),
    ],
)
def test_what_serves_a_model(container, is_engine):
    """By its image or its command; routers, cache servers, pickers and benchmarks do not."""
    spec = {"spec": {"containers": [{"name": "c", **container}]}}
    assert engines_of(msgspec.convert(spec, PodTemplate)) == (("c",) if is_engine else ())


def test_a_label_says_that_a_pod_serves_a_model():
    spec = {
        "metadata": {"labels": {"llm-d.ai/role": "decode"}},
        "spec": {"containers": [{"name": "mine", "image": "a/b"}]},
    }
    assert engines_of(msgspec.convert(spec, PodTemplate)) == ("mine",)
