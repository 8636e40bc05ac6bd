"""Which container of a pod template is a server of models, by image, command and labels.

Sources: image names of vLLM, SGLang, llm-d and other common servers (Hugging Face's
text-generation-inference and text-embeddings-inference, KServe's huggingfaceserver, Ollama,
llama.cpp, Triton, TensorRT-LLM, LMDeploy, LoRAX, DJL Serving, Xinference, LocalAI, NVIDIA's NIMs at
nvcr.io/nim); the commands that start them (vllm-project/vllm, `vllm serve` and `vllm.entrypoints`;
sgl-project/sglang, `sglang.launch_server`); the labels of llm-d
(llm-d-incubation/llm-d-modelservice) and AIBrix. Routers, cache servers and benchmarks have similar
image names (vllm-project/production-stack, helm/templates).
"""

import re
from typing import Final

from reporter.model.objects import KubeObject, Pod, PodTemplate, TemplateContainer
from reporter.model.text import remembered

ROLE: Final = "llm-d.ai/role"
"""Label of the pods of llm-d's charts: `decode` or `prefill`."""

_LABELS: Final = (
    ROLE, "llm-d.ai/inference-serving", "llm-d.ai/inferenceServing", "model.aibrix.ai/name",
)  # fmt: skip
_IMAGE: Final = re.compile(
    r"vllm|sglang|llm-d|text-(?:generation|embeddings)-inference|\bt[eg]i\b|\bollama\b"
    r"|llama[.-]?cpp|llama-server|tritonserver|tensorrt-?llm|\btrt-?llm|lmdeploy|\blorax\b"
    r"|djl-(?:serving|inference)|huggingfaceserver|\bxinference\b|\blocal-?ai\b|\bllm-scaler\b"
)
_FOLDERS: Final = frozenset({"nim", "tensorrt-llm"})
"""Folders of NVIDIA's registry whose images are servers, such as tensorrt-llm/release."""

_STARTS: Final = re.compile(
    r"\b(?:vllm|sglang|ollama)\s++serve\b|\btext-generation-launcher\b|\bllama-server\b"
    r"|\btritonserver\b|\bvllm\.entrypoints\b|\bsglang\.launch_server\b|\btrtllm-serve\b"
)
_IDLE: Final = re.compile(r"(?:\bsleep\s++(?:inf|infinity|\d++\w?)|\btail\s++-f\s++/dev/null)\s*+$")
"""The command of a pod that only idles, for somebody to exec into it, e.g. to send requests."""

_SERVED: Final = re.compile(r"--served-model-name[=\s]\s*+([^\s'\"]{1,200})")
_MODEL: Final = re.compile(
    r"(?:--model(?:-path|-id)?[=\s]|\bvllm\s++serve\s)\s*+([\w./][^\s'\"]{0,199})"
)
_NO_ENGINE: Final = re.compile(
    r"router|cache[-_]?server|lmcache_\w{0,40}server|benchmark|bench\s++serve|-epp\b"
    r"|endpoint-picker"
    r"|inference-scheduler|routing-sidecar|operator|controller"
)


def engines_of(template: PodTemplate) -> tuple[str, ...]:
    """Return the names of the containers that serve a model; empty if it is not a model."""
    containers = template.spec.containers or ()
    found = tuple(each.name for each in containers if _starts_engine(each.image, _words(each)))
    labels = template.metadata.labels or {}
    if found or all(labels.get(each) in {None, "false"} for each in _LABELS):
        return found
    return tuple(each.name for each in containers if not _NO_ENGINE.search(_words(each)))[:1]


def command_line(template: PodTemplate) -> str:
    """Return the commands of a template's containers, with arguments."""
    return " ".join(_words(each) for each in template.spec.containers or ())


def model_named(template: PodTemplate) -> str:
    """Return the name of the served model from the command line, or an empty string."""
    line = command_line(template)
    found = _SERVED.search(line) or _MODEL.search(line)
    return found[1] if found else ""


_ELSEWHERE: Final = frozenset({"DaemonSet", "Job"})
"""Kinds of owners of pods that may run an engine and that no stack judges as a model."""


def is_engine_alone(pod: KubeObject) -> bool:
    """Tell whether a pod runs an engine and has no owner, or only owners that no stack judges."""
    if not isinstance(pod, Pod) or pod.deleting or pod.status.phase not in {"Pending", "Running"}:
        return False
    annotated = pod.metadata.annotations.is_model if pod.metadata.annotations else None
    owners = {each.kind for each in pod.metadata.owner_references or ()}
    images = (each.image for each in pod.spec.containers or ())
    return annotated != "false" and owners <= _ELSEWHERE and any(map(_is_engine_image, images))


def _parted(image: str) -> tuple[str, str]:
    folder, _, name = image.partition("@")[0].rpartition("/")
    return folder, name


@remembered(4096, characters=512)
def _is_engine_image(image: str) -> bool:
    """Decide by the last part of an image's name, or by a folder of NVIDIA and its mirrors."""
    folder, name = _parted(image)
    if _NO_ENGINE.search(name):
        return False
    return not _FOLDERS.isdisjoint(folder.split("/")) or bool(_IMAGE.search(name))


@remembered(4096, characters=1024)
def _starts_engine(image: str, words: str) -> bool:
    if _NO_ENGINE.search(words) or _NO_ENGINE.search(_parted(image)[1]):
        return False
    if _STARTS.search(words):
        return True
    return _is_engine_image(image) and not _IDLE.search(words)


def _words(container: TemplateContainer) -> str:
    """Return the command line, or enough of it to see what it starts."""
    return " ".join((*(container.command or ()), *(container.args or ())))[:4096]
