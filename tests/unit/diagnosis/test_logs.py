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
    "a model of GGUF that is too new": ("llama_model_load: error loading model: unknown model architecture: 'gemma3n'", "lc-load"),
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
    "no mapping": ("[]", "it is no mapping of signatures by their ids"),
    "not YAML": ("a: [", "line "),
    "an id": ("'A b': " + ROW % "abcd", "signature 'A b': an id is lower-case"),
    "twice": (f"a: {ROW % 'abcd'}\na: {ROW % 'abcd'}", "'a'"),
    "ours": ("enospc: " + ROW % "abcd", "signature enospc: the program has one of that id"),
    "a key": ("a: {class: c, match: abcd, means: a, do: b, x: 1}", "unknown field `x`"),
    "a missing key": ("a: {class: c, match: abcd, means: a}", "missing required field `do`"),
    "a type": ("a: {class: c, match: 5, means: a, do: b}", "Expected `str`, got `int`"),
    "sureness": ("a: {class: c, sureness: x, match: abcd, means: a, do: b}", "'x'"),
    "no pattern": ("a: " + ROW % "ab(cd", "signature a: match is no regular expression"),
    "unbounded": ("a: " + ROW % "ab.*cd", "signature a: * in match is unbounded"),
    "nested": ("a: " + ROW % "a(?:bc|b){1,30}d", "match repeats a group"),
    "many ways": ("a: " + ROW % "a.{0,99}b.{0,99}c", "may be tried in 9801 ways"),
    "begins": ("a: " + ROW % r"\w++ failed", "match begins with a repeat"),
    "refers back": ("a: " + ROW % r"a(b)\1c", "refers back"),
    "fits nothing": ("a: " + ROW % "(?:abcd)?", "match fits an empty line"),
    "no such value": ("a: {class: c, match: abcd, means: '{x}', do: b}", "{x} is no named group"),
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
