"""What logs say by the table of signatures."""

import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from reporter.diagnosis.logs import MOST_BYTES, MOST_LINES, NOISE, WRAPPERS, read_log
from reporter.diagnosis.signatures import (
    Sureness,
    Unreadable,
    built_in,
    pattern_fault,
    signatures_with,
    texts,
)
from reporter.errors import UsageError
from tests.tables import rows

SAMPLES = Path(__file__).parents[2] / "data" / "logs"
EXPECTED = yaml.safe_load((SAMPLES / "index.yaml").read_text("utf-8"))
ROWS = yaml.safe_load(Path(__file__).with_name("logs.yaml").read_text("utf-8"))
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


@rows(("text", "signature"), ROWS["chosen"])
def test_which_line_counts(text, signature):
    assert signature_of(text) == signature


@pytest.mark.parametrize("row", ROWS["sentences"])
def test_a_row(row):
    """The row is the one that counts for its line, and the sentence has what the line says."""
    line, told = ROWS["sentences"][row]
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
    assert reading.cause.sentence == "nothing is stored under bucket/a"
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


@pytest.mark.parametrize("sureness", get_args(Sureness))
def test_text_for_people_says_how_sure_it_is(sureness, run, tmp_path):
    own, log = tmp_path / "own.yaml", tmp_path / "a.log"
    own.write_text(f"a: {{class: c, sureness: {sureness}, match: oddly, means: b, do: C.}}")
    log.write_text("oddly\n")
    status, out, _ = run("explain", "--log", log, "--log-signatures", own)
    assert (status, f"{sureness}: " in out) == (0, True)


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


@rows(("text", "said"), ROWS["wrong-files"])
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
