"""What single rows of the table of signatures tell: a line as its program writes it, and the sentence."""

import pytest

from reporter.diagnosis.logs import built_in, read_log

LINES = {
    "gaudi-acquire": ("RuntimeError: synStatus=26 [Generic failure] Device acquire failed.", "no Gaudi card could be acquired"),
    "v-kv-auto": ("ValueError: Cannot auto-fit max_model_len: not enough GPU memory available to serve even a single token.", "no context length fits"),
    "v-mamba": ("ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (402). Each decode sequence requires one", "of 402 sequences, --max-num-seqs is 1024"),
    "v-swap": ("ValueError: Too large swap space. 32.00 GiB out of the 31.10 GiB total CPU memory is allocated for the swap space.", "32.00 of 31.10 GiB"),
    "v-env-value": ("ValueError: Invalid value 'FLASH' for VLLM_ATTENTION_BACKEND. Valid options: ['FLASH_ATTN', 'FLASHINFER'].", "VLLM_ATTENTION_BACKEND is FLASH"),
    "v-dp-ranks": ("ValueError: Not enough resources to allocate 4 DP ranks on DP master node 10.0.0.4, possible to fit 2 DP ranks.", "for 4 DP ranks"),
    "v-dp-differ": ("RuntimeError: Configuration mismatch detected for engine 3. All DP workers must have identical configurations", "engine 3 was started with other flags"),
    "v-ray-ip": ("RuntimeError: Every node should have a unique IP address. Got 2 nodes with node ids ['a', 'b'] and 1 unique IP addresses", "several of the 2 nodes"),
    "v-devices": ('Exception: Error computing device indices for CUDA_VISIBLE_DEVICES: local range: [8, 16) base value: "0,1"', "[8, 16) are wanted of CUDA_VISIBLE_DEVICES"),
    "v-uuid": ("ValueError: invalid literal for int() with base 10: 'MIG-377e0049-554c-540b-93c6-d0976f8426cb'", "a UUID (MIG-377e0049-554c-540b-93c6-d0976f8426cb)"),
    "v-divisible": ("ValueError: Weight input_size_per_partition=192 for layer 'mlp.down_proj' is not divisible by group_size=128. This happens", "192 cannot be split over 128"),
    "v-batch-image": ("ValueError: Chunked MM input disabled but max_tokens_per_mm_item (16384) is larger than max_num_batched_tokens (8192).", "takes 16384 tokens, --max-num-batched-tokens is 8192"),
    "v-draft-tp": ("ValueError: speculative_draft_tensor_parallel_size=4 cannot be other value than 1 or target model tensor_parallel_size", "on 4 GPUs; it can on 1"),
    "v-draft-vocabulary": ("ValueError: Target and draft model should have the same vocabulary size. Target model vocab_size=128256. Draft model vocab_size=151936.", "of 151936, the model of 128256"),
    "v-parser": ("KeyError: \"Reasoning parser 'qwen' not found. Available parsers: ['deepseek_r1']\"", "no parser qwen"),
    "v-no-kernel": ("ValueError: Failed to find a kernel that can implement the WNA16 linear layer. Reasons: ...", "computes WNA16 layers"),
    "v-tokenizer-list": ("AttributeError: 'list' object has no attribute 'keys'", "saved by transformers 5"),
    "v-tokenizer-broken": ("RuntimeError: Internal: could not parse ModelProto from /models/m/tokenizer.model", "/models/m/tokenizer.model is no tokenizer"),
    "v-config-strict": ("huggingface_hub.errors.StrictDataclassFieldValidationError: Validation error for field 'rope_theta'", "rope_theta"),
    "v-lora-empty": ("ValueError: /adapters/sql doesn't contain tensors", "no weights: /adapters/sql"),
    "v-kv-conn": ("ValueError: Unsupported connector type: LMCacheConnector", "no KV connector LMCacheConnector"),
    "v-kv-engine": ("    assert issubclass(connector_cls, KVConnectorBase_V1)", "the other engine of vLLM"),
    "kv-mooncake": ("RuntimeError: Mooncake Transfer Engine initialization failed.", "Mooncake"),
    "v-socket-path": ('zmq.error.ZMQError: ipc path "/tmp/engine_8059bf64_service_lookup" is longer than 107 characters', "longer than 107 characters"),
    "fabric": ("torch.AcceleratorError: CUDA error: system not yet initialized", "fabric"),
    "gpu-none-amd": ("RuntimeError: No HIP GPUs are available", "no GPU of AMD"),
    "gpu-taken": ("torch.AcceleratorError: CUDA error: CUDA-capable device(s) is/are busy or unavailable", "busy or unavailable"),
    "nvlink": ("RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution", "link between GPUs"),
    "nvml-call": ("pynvml.NVMLError_NotSupported: Not Supported", "NVML: NotSupported"),
    "kernel-image": ("RuntimeError: Triton Error [CUDA]: device kernel image is invalid", "does not fit the GPU or the driver"),
    "no-compiler": ("FileNotFoundError: [Errno 2] No such file or directory: 'ninja'", "no compiler for kernels (ninja)"),
    "no-libcuda": ("/usr/bin/ld: cannot find -lcuda: No such file or directory", "does not find libcuda"),
    "ninja": ("RuntimeError: Ninja build failed. Ninja output:", "kernels do not compile"),
    "helper": ("subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/x/main.c', '-O3']' returned non-zero exit status 1.", "fails in gcc"),
    "compile": ("torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:", "compiling kernels failed"),
    "compile-cache": (
        "The most likely reason for this is that a previous compilation failed, leading to a corrupted compilation artifact.",
        "cache of compiled models",
    ),
    "rdma-none": ("E0110 16:55:35.140089 281933 rdma_context.cpp:387] ibv_get_device_list failed", "no RDMA device"),
    "ucx": ("[1718.1] [pod:1:0] parser.c:2052 UCX  ERROR no active messages transport to pod-1", "no active messages transport"),
    "nccl-usage": ("RuntimeError: NCCL error: invalid usage (run with NCCL_DEBUG=WARN for details)", "NCCL failed (invalid usage)"),
    "nccl-remote": ("RuntimeError: NCCL error: remote process exited or there was a network error", "another rank died"),
    "nccl-library": ("ERROR 10-25 13:08:43 [pynccl_wrapper.py:386] Failed to load NCCL library from libnccl.so.2. It is expected if", "libnccl.so.2"),
    "all-reduce": ("RuntimeError: Error happened when batch testing peer-to-peer access from (0, 1) to (1, 0):", "all-reduce"),
    "s-kernel": ("[sgl_kernel] CRITICAL: Could not load any common_ops library!", "sgl_kernel"),
    "s-package": ("Exception: flashinfer_python is installed with version 0.2.3, which is less than the minimum required version 0.2.7. Please", "has flashinfer_python 0.2.3, and SGLang needs 0.2.7"),
    "s-host": ("ValueError: Not enough host memory available. Requesting 214.75 GB but only have 96.20 GB free. Please reduce", "wants 214.75 GB, 96.20 GB are free"),
    "gpu-oom": ("RuntimeError: [TM][ERROR] CUDA runtime error: out of memory /opt/lmdeploy/src/turbomind/utils/memory_utils.cu:32", "GPU memory is full"),
    "host-oom": ("OSError: [Errno 12] Cannot allocate memory", "no more main memory"),
    "pinned": ("RuntimeError: cudaHostRegister failed: 2", "cudaHostRegister"),
    "tei-backend": ("Could not start Candle backend: Could not start backend: cannot find tensor encoder.layer.0.weight", "Candle does not start: cannot find tensor encoder.layer.0.weight"),
    "serde": ("unknown variant `nomic_moe`, expected one of `bert`, `xlm-roberta` at line 30 column 28", "does not know nomic_moe"),
    "lc-value": ('error while handling argument "-sm": invalid value', "argument -sm has a bad value"),
    "lc-hub": ("0.00.073.107 W get_repo_files: failed to resolve commit for unsloth/gemma-4-E4B-it-GGUF", "no commit of unsloth/gemma-4-E4B-it-GGUF"),
    "tr-spawn": ("Exception in thread Thread-1 (_manager_spawn):", "cannot spawn the processes"),
    "v-workspace": ("AssertionError: Workspace is locked but allocation from 'turboquant_attn.py:879:_decode_attention' requires 0.76 MB, current size is 0.00 MB.", "turboquant_attn.py:879:_decode_attention needs 0.76 MB"),
    "lmcache-blend": ("ValueError: vllm model for vllm-instance not found.", "(vllm-instance)"),
    "lc-truncated": ("llama_model_load: error loading model: tensor 'blk.9.ffn_up.weight' data is not within the file bounds, model is corrupted or incomplete", "truncated"),
    "lc-magic": ("gguf_init_from_file_impl: invalid magic characters: 'vers', expected 'GGUF'", "no file of GGUF"),
    "lc-path": ("gguf_init_from_file: failed to open GGUF file '/models/m.gguf' (No such file or directory)", "/models/m.gguf"),
    "lc-argument": ("error: invalid argument: --flash-attn-2", "--flash-attn-2"),
    "tr-engine-key": ("[TensorRT-LLM][ERROR] Assertion failed: Failed to deserialize cuda engine. (/app/tensorrt_llm/cpp/tllmRuntime.cpp:129)", "another version of TensorRT-LLM"),
    "tr-world": ("[TensorRT-LLM][ERROR] Assertion failed: mpiSize == tp * pp (/app/tensorrt_llm/cpp/worldConfig.cpp:80)", "number of ranks"),
    "tr-config": ("E0214 14:42:54.681774 1 model_repository_manager.cc:1309] Poll failed for model directory 'bls': failed to read text proto from /m/bls/config.pbtxt", "/m/bls/config.pbtxt"),
    "hf-fine-grained": ("403 Forbidden: Please enable access to public gated repositories in your fine-grained token settings to view this repository.", "fine-grained"),
    "hf-cache": ("huggingface_hub.errors.CacheNotFound: Cache directory not found: /data/.cache/huggingface. Please use `cache_dir` argument", "does not exist: /data/.cache/huggingface"),
    "hf-broken": ("requests.exceptions.ChunkedEncodingError: ('Connection broken: IncompleteRead(1 bytes read)', x)", "broke off"),
    "httpx": ("httpx.ConnectError: [Errno 111] Connection refused", "ConnectError"),
    "tls-plain": ("ssl.SSLError: [SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)", "speaks http"),
    "ks-irsa": (
        "botocore.exceptions.ClientError: An error occurred (AccessDenied) when calling the AssumeRoleWithWebIdentity operation: Not authorized",
        "its role (AccessDenied)",
    ),
    "ks-region": (
        "botocore.exceptions.ClientError: An error occurred (PermanentRedirect) when calling the ListObjects operation: The bucket you are",
        "another region",
    ),
    "ks-gcs-token": ("google.auth.exceptions.RefreshError: ('Failed to retrieve http://metadata.google.internal/computeMetadata/v1/', x)", "RefreshError"),
    "not-permitted": ("PermissionError: [Errno 1] Operation not permitted: '/models/m'", "an operation on /models/m"),
    "disk-quota": ("OSError: [Errno 122] Disk quota exceeded", "quota"),
    "no-locks": ("NotImplementedError: FileSystem does not appear to support flock; use SoftFileLock instead", "no file locks"),
    "cpu-instruction": ("/bin/bash: line 1:     7 Illegal instruction     (core dumped) vllm serve m", "lacks instructions"),
    "no-package": ("ImportError: Please install bitsandbytes>=0.46.1 by running `pip install bitsandbytes>=0.46.1`", "package bitsandbytes>=0.46.1"),
    "tgi-killed": ("Error: Download process was signaled to shutdown with signal 7", "killed (signal 7)"),
    "cuda": ("RuntimeError: HIP error: invalid argument", "a call of HIP failed (invalid argument)"),
    "v-weights": ("RuntimeError: weight model.layers.0.self_attn.rotary_emb.inv_freq does not exist", "do not agree"),
    "port": ("RuntimeError: engine_info_bootstrap_port 8998 is already in use. When running multiple instances on the same node", "one port"),
    "corrupt": ("ValueError: Corrupted Header: Tensor 'lm_head.weight' missing data_offsets", "truncated"),
    "ks-denied": ("RuntimeError: HTTP access denied for 'https://store.example/m.zip'. Verify permissions.", "may not read store.example/m.zip"),
    "ks-missing": ("RuntimeError: HTTP resource not found at 'https://store.example/m.zip'.", "store.example/m.zip does not exist"),
    "ks-s3": ("RuntimeError: S3 error [SlowDown]: Please reduce your request rate.", "said SlowDown"),
    "ks-http": ("RuntimeError: HTTP request to 'https://store.example/m.zip' failed with status code 502.", "store.example/m.zip is answered with 502"),
    "denied": ("failed to make directory /config/shared: mkdir /config: permission denied", "/config is not accessible"),
    "hf-incomplete": (
        "IncompleteSnapshotError: The cached snapshot for 'a/b' (revision 'main', commit 1f2e) is incomplete: 3 file(s) are missing (x).",
        "a/b is incomplete: 3 files",
    ),
    "hf-mirror": (
        "FileMetadataError: Response from https://hub.corp/a/b/resolve/main/config.json is missing the 'X-Repo-Commit' header, so it does",
        "hub.corp is no model hub",
    ),
    "rdma-retry": ("E0325 09:33:41.551047  8274 worker_pool.cpp:294] Worker: Process failed for slice (retry_cnt: 0): transport retry counter exceeded", "do not reach"),
    "tr-stub": ("Internal: Stub process 'vllm_0_0' is not healthy.", "vllm_0_0 died"),
    "numba": ("RuntimeError: cannot cache function 'create_fsm_info': no locator available for file '/opt/x.py'", "numba"),
    "v-processor": ("OSError: Can't load image processor for '/models/vl'. If you were trying to load it from", "image processor are missing in /models/vl"),
    "s-warmup": ("AssertionError: res=<Response [403]>, res.text='<html>'", "answered with 403"),
    "shm-torch": ("RuntimeError: unable to open shared memory object </torch_1> in read-write mode: No space left on device (28)", "/dev/shm"),
    "no-kernel": ("FATAL: kernel `fmha_cutlassF_f16_aligned_64x64_rf_sm80` is for sm80-sm100, but was built for sm50", "no kernels for this GPU"),
    "ks-azure": ("ERROR CODE: AuthenticationFailed", "Azure refused"),
    "ks-s3-keys": ('ERROR "cp s3://b/m /m": NoCredentialProviders: no valid providers in chain', "S3 keys"),
    "ks-bucket": ("BucketNotFoundException: 404 gs://b bucket does not exist.", "bucket"),
    "ks-empty": ("ERROR: (gcloud.storage.cp) The following URLs matched no objects or files:", "nothing lies under"),
    "dns": ("curl: (6) Could not resolve host: huggingface.co", "huggingface.co does not resolve"),
    "curl": ("curl: (22) The requested URL returned error: 401", "(22): The requested URL returned error: 401"),
    "wget": ("wget: server returned error: HTTP/1.1 401 Unauthorized", "answered with 401"),
    "git": ("fatal: could not read Username for 'https://huggingface.co': No such device or address", "no token for huggingface.co"),
    "git-lfs": ("git: 'lfs' is not a git command. See 'git --help'.", "no Git LFS"),
    "rclone": ("2026/01/02 03:04:05 Failed to copy: AccessDenied: Access Denied", "rclone cannot copy: AccessDenied"),
    "file-exists": ("wget: can't open '/models/GFPGANv1.3.pth': File exists", "/models/GFPGANv1.3.pth, from an earlier run"),
    "dynamo-etcd": ("Error: Unable to connect to etcd server at http://dynamo-etcd:2379. Check etcd server status", "at dynamo-etcd:2379"),
    "refused": ("ConnectionRefusedError: [Errno 111] Connection refused", "refused"),
}  # fmt: skip


@pytest.mark.parametrize("row", LINES)
def test_a_row(row):
    """The row is the one that counts for its line, and the sentence has what the line says."""
    line, told = LINES[row]
    cause = read_log(line, built_in()).cause
    assert cause.signature == row
    assert told in cause.sentence


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: the logging system not yet initialized",
        "KeyError: '10.42.0.17'",
        "KeyError: 'node.kubernetes.io.example.zone'",
        "RuntimeError: CUDA runtime error: invalid argument: allocator.cu:12",
    ],
)
def test_what_only_looks_like_a_cause(line):
    """Words that a cause has too stand in other errors."""
    assert read_log(line, built_in()).cause.signature not in ("fabric", "v-weights", "lc-argument")


def test_a_comparison_is_not_a_feature():
    """Python's own "not supported" says nothing of what an engine can do."""
    line = "TypeError: '<' not supported between instances of 'NoneType' and 'int'"
    assert read_log(line, built_in()).cause.signature == ""


@pytest.mark.parametrize(
    "line",
    [
        "KeyError: 'blocks.0.attn.qkv.weight'",
        "    assert param_data.shape == loaded_weight.shape",
        "    assert self.quant_method is not None",
    ],
)
def test_a_checkpoint_of_another_engine(line):
    """What loaders end with, whose exception has no words, says that weights do not fit."""
    assert read_log(line, built_in()).cause.signature == "v-weights"
