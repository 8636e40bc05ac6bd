"""What logs say by the table of signatures."""

import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reporter.diagnosis.logs import (
    MOST_BYTES,
    MOST_LINES,
    NOISE,
    WRAPPERS,
    Unreadable,
    built_in,
    pattern_fault,
    read_log,
    signatures_with,
    texts,
)
from reporter.errors import UsageError

SAMPLES = Path(__file__).parents[2] / "data" / "logs"
EXPECTED = yaml.safe_load((SAMPLES / "index.yaml").read_text("utf-8"))
TRACEBACK = 'Traceback (most recent call last):\n  File "x.py", line 1, in f\n    f()\n'


def signature_of(text):
    return read_log(text, built_in()).cause.signature


@pytest.mark.parametrize("name", EXPECTED)
def test_samples(name, run):
    status, out, _ = run("explain", "--log", SAMPLES / name, "-o", "json")
    assert status == 0
    told = json.loads(out)
    assert told["signature"] == EXPECTED[name]["signature"]
    assert told["values"] == EXPECTED[name]["values"]


def test_every_sample_is_there():
    assert {each.name for each in SAMPLES.glob("*.log")} == EXPECTED.keys()
    assert len(EXPECTED) == 30


def test_rows_read_as_sentences():
    """A clause without a full stop, a sentence with one, and a pattern that is allowed to users too."""
    wrong = [
        row.id
        for row in built_in()
        if any(each.endswith(".") for each in texts(row.row.means))
        or not all(each.endswith(".") and each[0].isupper() for each in texts(row.row.do))
        or pattern_fault(row.row.match)
    ]
    assert wrong == []


CHOSEN = {
    "the surest": ("ncclRemoteError\nNo space left on device", "enospc"),
    "then the earliest": ("No module named 'x'\nNo space left on device", "no-module"),
    "then the table's order": ("creating shared memory segment /dev/shm/x, No space left on device", "shm"),
    "a worker before the engine": (
        (
            "(EngineCore pid=2) ERROR 11-24 09:15:47 [a.py:1] ptxas fatal\n"
            "(Worker_TP1 pid=3) ERROR 11-24 09:15:47 [a.py:1] device-side assert: CUDA error: "
            "device-side assert"
        ),
        "cuda-illegal",
    ),
    "the engine before its server": (
        (
            f"(APIServer pid=1) {TRACEBACK}(APIServer pid=1) OSError: No space left on device\n"
            "(EngineCore pid=2) Traceback (most recent call last):\n"
            "(EngineCore pid=2) RuntimeError: Read-only file system: '/x'"
        ),
        "read-only",
    ),
    "no line of level INFO": ("INFO 11-24 02:00:09 [a.py:1] No space left on device", ""),
    "no line of level DEBUG in JSON": ('{"level":"debug","msg":"No space left on device"}', ""),
    "the error of JSON": ('{"level":"error","msg":"x","error":"No space left on device"}', "enospc"),
    "no WARNING": ("WARNING 11-24 02:00:09 [a.py:1] memory capacity is unbalanced", ""),
    "a WARNING that its row names": ("WARNING 11-24 02:00:09 [a.py:1] wait timeout after 5ms, keys: /x", "rdzv-store"),
    "what is tried again": ("Retrying (4) after Failed to resolve 'hf.co'", ""),
    "under terminal colours and a stamp": ("2026-11-24T09:00:00.123456789Z \x1b[31mKilled\x1b[0m", "killed"),
    "in the containers' own format": ("2026-11-24T09:00:00.123456789Z stderr F No space left on device", "enospc"),
    "after carriage returns": ("50%\r75%\rNo space left on device\r\n", "enospc"),
    "within what a worker is said to have failed with": (
        "RuntimeError: Worker failed with error 'No space left on device', please check",
        "enospc",
    ),
    "with escaped quotes": ('err="no matches for kind \\"A\\" in version \\"b/v1\\""', "ctl-crd"),
    "a failure that a server logs as INFO, where nothing else tells": (
        (
            'I0806 21:52:45.863589 1 pb_stub.cc:366] "Failed: OSError: Access to model a/b is '
            'restricted and you are not in the authorized list."'
        ),
        "hf-gated-grant",
    ),
    "not where another line tells": ("INFO 11-24 02:00:09 [a.py:1] OSError: No space left on device\nKilled", "killed"),
    "a shared memory segment before a full disk": (
        "failed to extend /dev/shm/nccl-a to 33030532 bytes, error: No space left on device (28)",
        "shm",
    ),
    "a program of a shell": ("/bin/sh: 1: vllm: Permission denied", "not-executable"),
    "a link that an earlier run left": ("FileExistsError: [Errno 17] File exists: '/pvc/m' -> '/models/m'", "file-exists"),
    "an API server that is late": (
        'err="failed to list *v1.Pod: Get \\"https://10.0.0.1:443/api/v1/pods\\": context deadline exceeded"',
        "ctl-api-late",
    ),
    "a quantization that wants another dtype": (
        (
            "ValueError: torch.bfloat16 is not supported for quantization method awq. "
            "Supported dtypes: [torch.float16]"
        ),
        "v-dtype",
    ),
    "GPU memory in torch before 2.2": (
        (
            "CUDA out of memory. Tried to allocate 86.00 MiB (GPU 0; 14.58 GiB total capacity; "
            "13.87 GiB already allocated; 43.56 MiB free)"
        ),
        "gpu-oom",
    ),
    "GPU memory of AMD": (
        (
            "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
            "capacity of 63.98 GiB of which 0 bytes is free."
        ),
        "gpu-oom",
    ),
    "GPU memory while graphs are captured": (
        "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 20.00 MiB",
        "s-graph",
    ),
    "memory of the container": (
        (
            "[enforce fail at alloc_cpu.cpp:118] err == 0. DefaultCPUAllocator: can't allocate memory: "
            "you tried to allocate 150994944 bytes."
        ),
        "cpu-oom",
    ),
    "a GPU that the container does not have": ("CUDA error: invalid device ordinal", "gpu-ordinal"),
    "too few GPUs in Ray": (
        (
            "ValueError: The number of required GPUs exceeds the total number of available GPUs in "
            "the placement group."
        ),
        "ray-pg",
    ),
    "no GPU on the head of Ray": ("ValueError: Current node has no GPU available. current_node_resource={'CPU': 8.0}.", "ray-node"),
    "a model of GGUF that is too new": ("llama_model_load: error loading model: unknown model architecture: 'gemma3n'", "lc-arch"),
    "a model of GGUF that does not load": ("llama_model_load: error loading model: missing tensor 'output.weight'", "lc-load"),
    "what SGLang leaves out": (
        "[2025-11-06 02:09:46] Ignore import error when loading sglang.srt.models.x: No module named 'y'\nKilled",
        "killed",
    ),
    "a model of Triton": (
        (
            "E1028 12:00:00.1 1 model_lifecycle.cc:654] failed to load 'ensemble' version 1: "
            "Invalid argument: unable to find model"
        ),
        "tr-load",
    ),
    "a folder without a configuration": (
        "OSError: Can't load the configuration of '/mnt/models'. If you were trying to load it",
        "hf-config",
    ),
    "the hub's own storage": ("RuntimeError: Data processing error: CAS service error : Reqwest Error: HTTP status", "hf-xet"),
    "a tool parser of another engine": ("KeyError: 'invalid tool call parser: qwen25 (chose from { hermes,llama3_json })'", "v-parser"),
    "tools without a parser": ("TypeError: Error: --enable-auto-tool-choice requires --tool-call-parser", "v-tool-flag"),
    "an argument too few": ("vllm: error: the following arguments are required: model_tag", "v-args-needed"),
    "an argument of another version of TGI": ("error: unexpected argument '--foo' found", "v-arg-clap"),
    "an attention backend that was forced": (
        (
            "ValueError: Selected backend AttentionBackendEnum.FLASHINFER is not valid for "
            "this configuration. Reason: ['head_size not supported']"
        ),
        "v-attn-set",
    ),
    "FP8 on Ampere": (
        (
            'ValueError("type fp8e4nv not supported in this architecture. The supported '
            "fp8 dtypes are ('fp8e5',)\")"
        ),
        "fp8-old",
    ),
    "a kernel for a larger GPU": (
        (
            "OutOfResources: out of resource: shared memory, Required: 147456, Hardware "
            "limit: 101376."
        ),
        "gpu-shared",
    ),
    "RDMA without locked memory": ("UCX  ERROR ibv_create_cq(cqe=4096) failed: Cannot allocate memory", "memlock"),
    "GPU memory of llama.cpp": ("llama_model_load: error loading model: unable to allocate CUDA0 buffer", "lc-memory"),
    "the vocabulary of gpt-oss": (
        (
            "openai_harmony.HarmonyError: error downloading or loading vocab file: failed "
            "to download"
        ),
        "hf-vocabulary",
    ),
    "a volume that somebody replaced": ("OSError: [Errno 116] Stale file handle: '/models/a'", "stale-handle"),
    "a volume that fails": ("OSError: [Errno 5] Input/output error: '/models/a.safetensors'", "io-error"),
    "a rope scaling that is too new": ("ValueError: `rope_scaling` must be a dictionary with two fields, `type` and `factor`", "v-rope"),
    "a transformers that is too new": ("AttributeError: Qwen2Tokenizer has no attribute all_special_tokens_extended", "v-transformers"),
    "no params.json": ("ValueError: Failed to load mistral 'params.json' config for model org/a. Please check", "v-mistral"),
    "no configuration in a folder": (
        (
            "ValueError: Could not detect config format for no config file found. With "
            "config_format 'auto', ensure your model has either config.json"
        ),
        "v-no-config",
    ),
    "weights that Marlin cannot split": (
        (
            "ValueError: Weight input_size_per_partition = 10944 is not divisible by "
            "min_thread_k = 128. Consider reducing tensor_parallel_size"
        ),
        "v-divisible",
    ),
    "weights that AWQ cannot split": (
        "ValueError: The input size is not aligned with the quantized weight shape. This can be",
        "v-aligned",
    ),
    "no pipeline": ("NotImplementedError: Pipeline parallelism is not supported for this model. Supported", "v-pipeline"),
    "a quantization that is not known": ("ValueError: Unknown quantization method: mxfp4. Must be one of ['awq', 'fp8'].", "v-quant-name"),
    "a quantization that the checkpoint has not": ("ValueError: Cannot find the config file for awq", "v-quant-file"),
    "an adapter that is not there": ("ValueError: Loading lora sql failed: No adapter found for /adapters/sql", "v-lora-path"),
    "what pydantic says of a setting": (
        "  Value error, max_num_seqs is odd [type=value_error, input_value=ArgsKwargs(()), x]",
        "v-refuses",
    ),
    "a fork": ("RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with", "v-fork"),
    "a neighbour that ends": ("AssertionError: Error in memory profiling. Initial free memory 10.0 GiB, current free", "v-profiling"),
    "a driver and a library": (
        "torch.AcceleratorError: CUDA error: system has unsupported display driver / cuda driver combination",
        "driver-combo",
    ),
    "no device": ("RuntimeError: CUDA error: no CUDA-capable device is detected", "gpu-none"),
    "a module of the kernel": ("RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment", "gpu-unknown"),
    "MPS": ("Error 805: MPS client failed to connect to the MPS control daemon or the MPS server", "gpu-mps"),
    "a GPU that fell off": ("pynvml.NVMLError_GpuIsLost: GPU is lost", "gpu-lost"),
    "torch for processors": ("AssertionError: Torch not compiled with CUDA enabled", "no-cuda"),
    "kernels of a newer CUDA": ("RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.", "ptx-new"),
    "no memory for cuBLAS": ("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "cublas"),
    "one GPU for two ranks": ("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000", "nccl-twice"),
    "an interface that is not there": (
        "node-0:65:65 [0] misc/socket.cc:1 NCCL WARN Bootstrap : no socket interface found",
        "nccl-interface",
    ),
    "ranks that do not meet": ("RuntimeError: Gloo connectFullMesh failed with [../third_party/gloo] Connection refused", "gloo"),
    "NVSHMEM": ("init.cu:1045: non-zero status: 7 nvshmem setup connections failed ", "nvshmem"),
    "two versions of Ray": ("RuntimeError: Version mismatch: The cluster was started with:", "ray-version"),
    "no head of Ray": ("[2026-05-16 14:36:52,941 W 45 45] gcs_client.cc:205: Failed to get cluster ID from GCS server", "ray-head"),
    "weights that do not fit into memory": (
        "RuntimeError: unable to mmap 9976578928 bytes from file </m/a.safetensors>: Cannot allocate memory (12)",
        "mmap",
    ),
    "arguments of TGI": ("""Error: ArgumentValidation("`max_input_tokens` must be < `max_total_tokens`")""", "tgi-arguments"),
    "too few GPUs for TGI": ("""Error: NotEnoughCUDADevices("`sharded` is true but only found 0 CUDA devices")""", "tgi-gpus"),
    "a model that TGI cannot split": ("NotImplementedError: sharded is not supported for AutoModel", "tgi-sharded"),
    "a shard that was killed": (
        (
            "2024-04-30T21:31:42.904106Z ERROR shard-manager: text_generation_launcher: Shard "
            "process was signaled to shutdown with signal 9 rank=0"
        ),
        "tgi-killed",
    ),
    "too little memory for Ollama": ("Error: model requires more system memory (12.9 GiB) than is available (8.8 GiB)", "lc-host"),
    "no profile of a NIM": ("ManifestDownloadError: Could not match a profile in manifest at '/etc/nim/x.yaml'", "nim-profile"),
    "a token with a line break": (
        "httpx.LocalProtocolError: Illegal header value b'Bearer hf_abcdefghijklmnopqrstuvwxyz\\n'",
        "hf-token-line",
    ),
    "no token": (
        (
            "huggingface_hub.errors.LocalTokenNotFoundError: Token is required (`token=True`), "
            "but no token found."
        ),
        "hf-token-none",
    ),
    "a pointer of Git LFS": ("_pickle.UnpicklingError: invalid load key, 'v'.", "corrupt"),
    "a configuration that is no JSON": (
        "OSError: It looks like the config file at '/m/config.json' is not a valid JSON file.",
        "hf-config",
    ),
    "a right of Google": (
        (
            "google.api_core.exceptions.Forbidden: 403 GET https://storage.googleapis.com/x: "
            "sa@p.iam does not have storage.objects.list access to the Google Cloud Storage bucket."
        ),
        "ks-gcs-right",
    ),
    "a panic": ("panic: runtime error: invalid memory address or nil pointer dereference", "ctl-panic"),
    "a flag of another version": ("Error: unknown flag: --pool-group", "go-flag"),
    "a flag of Go": ("flag provided but not defined: -poolNamespace", "go-flag"),
    "no program in the shell": ("bash: line 1: vllm: command not found", "no-program"),
    "a tool that is not needed": ("/entrypoint.sh: line 7: nvidia-smi: command not found", ""),
    "no script": ("python3: can't open file '/app/serve.py': [Errno 2] No such file or directory", "no-script"),
    "a mount that ended": ("OSError: [Errno 107] Transport endpoint is not connected: '/models'", "fuse"),
    "files of which too many are open": ("OSError: [Errno 24] Too many open files", "nofile"),
    "a cache that is not there": ("redis.exceptions.ConnectionError: Error 111 connecting to redis:6379. Connection refused.", "address"),
    "a host, where nothing says more": (
        (
            "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='huggingface.co', "
            "port=443): Max retries exceeded with url: /api/models/a"
        ),
        "host",
    ),
    "a host, where its name says more": (
        (
            "HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /a "
            "(Caused by NameResolutionError: Failed to resolve 'huggingface.co')"
        ),
        "dns",
    ),
    "a file, where nothing says more": ("FileNotFoundError: [Errno 2] No such file or directory: '/config/a.yaml'", "no-file"),
    "the message of a Rust program": (
        (
            '{"timestamp":"2024-11-27T22:44:00.951312Z","level":"ERROR","fields":{"message":"Shard '
            'complete standard error output:\\n\\nOSError: No space left on device"},"target":"x"}'
        ),
        "enospc",
    ),
    "the traceback of a Python program": (
        (
            '{"level":"ERROR","message":"","exc_info":"Traceback (most recent call last):\\n  File '
            '\\"a.py\\", line 1, in f\\nKeyError: 1\\nRuntimeError: No CUDA GPUs are available"}'
        ),
        "gpu-none",
    ),
    "a wrapper in the same JSON line": (
        '{"level":"ERROR","message":"EngineCore failed to start","exception":"No space left on device"}',
        "enospc",
    ),
    "no warning of torch": (
        (
            "[W socket.cpp:663] [c10d] The IPv6 network addresses of (a, 29500) cannot be retrieved "
            "(gai error: -3 - Temporary failure in name resolution)."
        ),
        "",
    ),
    "no warning of Python's own logger": ("WARNING:root:No space left on device", ""),
    "no line that loguru writes of level INFO": ("2024-11-27 22:42:25.931 | INFO     | a.b:<module>:80 - No space left on device", ""),
    "no line of level INFO that zap writes for people": ("2026-04-15T15:43:49Z\tINFO\tsetup\tNo space left on device", ""),
    "an error that zap writes for people": (
        (
            "2026-04-15T15:43:49Z\tERROR\tsetup\tproblem running manager\t"
            '{"error": "no matches for kind \\"A\\" in version \\"b/v1\\""}'
        ),
        "ctl-crd",
    ),
    "what the hub tries again": (
        (
            "'(MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): Max retries "
            "exceeded (Caused by NameResolutionError(Failed to resolve 'huggingface.co'))\"))' thrown "
            "while requesting HEAD https://huggingface.co/a/resolve/main/config.json"
        ),
        "",
    ),
    "no DeepGEMM": ("RuntimeError: DeepGEMM backend is not available or outdated. Please install or update", "deep-gemm"),
    "an address of another host": ("OSError: [Errno 99] Cannot assign requested address", "bind"),
    "JSON of another form": ('{"level":"error","msg":"No space left on device","fields":[1]}', "enospc"),
    "two packages of Python": ("ImportError: cannot import name 'Qwen3Config' from 'transformers' (/usr/lib/__init__.py)", "import-name"),
    "a keyword of another version": ("TypeError: LlamaAttention.__init__() got an unexpected keyword argument 'rope_theta'", "attribute"),
    "what is not supported": ("ValueError: Speculative decoding with draft model is not supported yet. Please", "unsupported"),
    "what CUDA says": ("RuntimeError: CUDA error: operation not permitted when stream is capturing", "cuda"),
    "a tokenizer of a newer form": ("Exception: data did not match any variant of untagged enum ModelWrapper at line 1 column 2", "v-tokenizer"),
    "a tokenizer class that is too new": ("ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported.", "v-tokenizer"),
    "a hub that fails": ("requests.exceptions.HTTPError: 504 Server Error: Gateway Time-out for url: https://huggingface.co/api/models/a", "hf-down"),
    "a name that is none": ("huggingface_hub.errors.HFValidationError: Repo id must use alphanumeric chars, '-', '_' or '.'. The name cannot start or end with '-' or '.' and the maximum length is 96: 'a b'.", "hf-name"),
    "weights of another form": ("KeyError: 'model.layers.0.mlp.gate_up_proj.weight_scale'", "v-weights"),
    "weights of another size": ("AssertionError: Attempted to load weight (torch.Size([1])) into parameter (torch.Size([2]))", "v-weights"),
    "a library that is no part of CUDA": ("ImportError: libGL.so.1: cannot open shared object file: No such file or directory", "no-library"),
    "a library of CUDA": ("ImportError: libcudart.so.12: cannot open shared object file: No such file or directory", "symbol"),
    "GPUs that are no peers": ("misc/a.cc:1 NCCL WARN Cuda failure 217 'peer access is not supported between these two devices'", "nccl-cuda"),
    "an all-reduce of its own": ("Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:364 'invalid argument'", "all-reduce"),
    "kernels for another GPU of AMD": ("RuntimeError: HIP error: invalid device function", "no-kernel"),
    "a GPU that systemd took away": ("Failed to initialize NVML: Unknown Error", "nvml-unknown"),
    "a GPU of AMD without a right": ("Unable to open /dev/kfd read-write: Permission denied", "kfd"),
    "a quantization that TGI misses": ("RuntimeError: Cannot load `awq` weight, make sure the model is already quantized", "v-quant-file"),
    "a model that is too large for Ollama": ("Error: llama runner process has terminated: signal: killed", "lc-killed"),
    "a call of cuBLAS": ("RuntimeError: CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasGemmEx`", "cublas-call"),
    "a name that a program in Go does not find": ("dial tcp: lookup istiod.istio-system.svc on 10.0.0.10:53: no such host", "dns"),
    "nothing": ("", ""),
}  # fmt: skip


@pytest.mark.parametrize(("text", "signature"), CHOSEN.values(), ids=CHOSEN)
def test_which_line_counts(text, signature):
    assert signature_of(text) == signature


@pytest.mark.parametrize("text", [*WRAPPERS, *NOISE])
def test_what_tells_nothing_is_no_cause(text):
    """Neither a wrapper nor noise is matched or quoted."""
    reading = read_log(f"{TRACEBACK}RuntimeError: {text}: No space left on device", built_in())
    assert reading.cause.signature == ""
    assert reading.quoted is None


def test_without_a_match_the_first_exception_is_quoted():
    """No cause is named, and no raw line gets into it."""
    log = f"{TRACEBACK}acme.OddError: the first\n{TRACEBACK}RuntimeError: the second\n"
    reading = read_log(log, built_in())
    assert reading.cause.sentence == reading.cause.signature == ""
    assert reading.quoted.text == "acme.OddError: the first"
    assert reading.quoted.number == 4


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("Error: pool odd is not known\nUsage:\n", "Error: pool odd is not known"),
        (
            "terminate called after throwing an instance of 'odd'\n",
            "terminate called after throwing",
        ),
        ("thread 'main' (7) panicked at src/a.rs:3:\n", "thread 'main' (7) panicked"),
        ("E1123 09:00:00.1 1 a.go:3] one odd\nE1123 09:00:01.1 1 a.go:3] two odd\n", "two odd"),
        ('{"level":"error","msg":"odd things"}\n{"level":"info","msg":"bye"}\n', "odd things"),
        ("W1123 09:00:00.1 1 a.go:3] error: none\nI1123 09:00:01.1 1 a.go:3] fine\n", ""),
    ],
)
def test_what_fails_in_other_languages_is_quoted(text, quoted):
    reading = read_log(text, built_in())
    assert reading.matched is None
    assert (reading.quoted.text if reading.quoted else "")[: len(quoted)] == quoted
    assert bool(reading.quoted) == bool(quoted)


def test_a_failure_before_the_last_lines_is_shown_with_them():
    text = "acme.OddError: the first\n" + "".join(f"line {each}\n" for each in range(40))
    assert read_log(text, built_in()).cause.shown[:3] == (
        "acme.OddError: the first",
        "...",
        "line 20",
    )


def test_only_the_end_of_a_log_is_read():
    cause = "No space left on device\n"
    assert signature_of(cause + "x\n" * (MOST_LINES - 1)) == "enospc"
    assert signature_of(cause + "x\n" * MOST_LINES) == ""
    assert signature_of(cause + "x" * MOST_BYTES) == ""


def test_values_and_lines_are_masked():
    """What a log gives away is not passed on, in whatever value it stands."""
    reading = read_log(
        "error: unrecognized arguments: --api-key sk-0123456789abcdef0123", built_in()
    )
    told = repr(reading.cause) + repr(reading.quoted)
    assert reading.cause.signature == "v-args"
    assert "0123456789abcdef" not in told


def test_a_message_has_no_address():
    reading = read_log("No model found in s3://bucket/a.", built_in())
    assert reading.cause.sentence == "nothing lies under bucket/a"
    assert reading.cause.values == {"uri": "s3://bucket/a"}


@given(st.text(max_size=400))
def test_any_text_is_read(text):
    read_log(text, built_in())


def test_text_for_people(run):
    _, out, _ = run("explain", "--log", SAMPLES / "13-vllm-shm.log")
    assert out.splitlines()[:2] == [
        "/dev/shm is too small.",
        "  What to do: Mount an emptyDir of medium Memory at /dev/shm.",
    ]
    _, out, _ = run("explain", "--log", SAMPLES / "30-no-cause.log")
    assert out == "No signature matches the last 1,000 lines.\n"
    _, out, _ = run("explain", "--log", SAMPLES / "11-vllm-hf-gated.log")
    assert out.startswith("meta-llama/Llama-3.1-8B-Instruct is gated")


def test_standard_input(run, monkeypatch):
    log = TextIOWrapper(BytesIO((SAMPLES / "04-vllm-kv-none.log").read_bytes()))
    monkeypatch.setattr(sys, "stdin", log)
    _, out, _ = run("explain", "--log", "-")
    assert "v-kv-none" in out


OWN = """
my-license: {class: config, sureness: certain,
   match: 'license for (?P<host>\\S++) has expired',
   means: 'the license for {host} has expired', do: 'Renew it.'}
my-space: {class: storage, sureness: certain,
   match: 'No space left on device', means: 'our disk is full', do: 'Ask the storage team.'}
"""


def test_rows_of_the_user_come_first(tmp_path, run):
    own, log = tmp_path / "own.yaml", tmp_path / "a.log"
    own.write_text(OWN)
    log.write_text("No space left on device\n")
    _, out, _ = run("explain", "--log", log, "--log-signatures", own)
    assert out.startswith("Our disk is full.")
    log.write_text("license for db.example has expired\n")
    _, out, _ = run("explain", "--log", log, "--log-signatures", own)
    assert out.startswith("The license for db.example has expired.")


ROW = "{class: config, match: '%s', means: 'a', do: 'B.'}"
WRONG = {
    "no mapping": ("[]", "expected a mapping of ids to signatures"),
    "not YAML": ("a: [", "line "),
    "an id": ("'A b': " + ROW % "abcd", "signature 'A b': an id has lower-case"),
    "twice": (f"a: {ROW % 'abcd'}\na: {ROW % 'abcd'}", "'a'"),
    "ours": ("enospc: " + ROW % "abcd", "signature enospc: a built-in signature has this id"),
    "a key": ("a: {class: c, match: abcd, means: a, do: b, x: 1}", "unknown field `x`"),
    "a missing key": ("a: {class: c, match: abcd, means: a}", "missing required field `do`"),
    "a type": ("a: {class: c, match: 5, means: a, do: b}", "Expected `str`, got `int`"),
    "sureness": ("a: {class: c, sureness: x, match: abcd, means: a, do: b}", "'x'"),
    "no pattern": ("a: " + ROW % "ab(cd", "signature a: match is not a regular expression"),
    "unbounded": ("a: " + ROW % "ab.*cd", "signature a: * in match is unbounded"),
    "nested": ("a: " + ROW % "a(?:bc|b){1,30}d", "match repeats a group"),
    "many ways": ("a: " + ROW % "a.{0,99}b.{0,99}c", "may be tried in 9801 ways"),
    "begins": ("a: " + ROW % r"\w++ failed", "match begins with a repeat"),
    "refers back": ("a: " + ROW % r"a(b)\1c", "match has a back-reference"),
    "fits nothing": ("a: " + ROW % "(?:abcd)?", "match also matches an empty line"),
    "no such value": (
        "a: {class: c, match: abcd, means: '{x}', do: b}",
        "{x} is not a named group",
    ),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("command", ["explain", "check"])
def test_a_wrong_file_is_refused(text, said, command, tmp_path, run):
    """One line says which row and why, before anything is done."""
    own = tmp_path / "own.yaml"
    own.write_text(text)
    arguments = ["--log", "-"] if command == "explain" else ["--from", tmp_path]
    status, _, err = run(command, *arguments, "--log-signatures", own)
    assert status == 2
    assert str(own) in err
    assert said in err


def test_a_missing_file(tmp_path, run):
    status, _, err = run("explain", "--log", tmp_path / "no.log")
    assert (status, "no.log cannot be read: No such file" in err) == (2, True)
    with pytest.raises(UsageError, match="cannot be read"):
        signatures_with(tmp_path / "no.yaml")
    assert issubclass(Unreadable, Exception)


def test_a_reason_and_a_log(run):
    assert run("explain", "clusterReady", "--log", "-")[0] == 2
