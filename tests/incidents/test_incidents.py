"""Incidents that people had: what is named stays named, nothing untrue is told, one cause a case."""

import pytest

from reporter.diagnosis.logs import read_log
from reporter.diagnosis.signatures import built_in
from tests.incidents.page import PAGE, page
from tests.incidents.score import cases, flags, in_a_model, is_plain, key, told_in_a_model, told_of

INCIDENTS = [pytest.param(each, id=each["id"]) for each in cases()]


def test_there_are_enough_and_each_is_one():
    """As many as are promised, each with its own name and a source."""
    assert len(cases()) >= 60
    assert len({key(each) for each in cases()}) == len(cases())
    assert sum(map(is_plain, cases())) >= 25


@pytest.mark.parametrize("case", INCIDENTS)
def test_an_incident(case):
    """It is named if it was; nothing that is told of it is untrue; a cause is told once."""
    told = told_of(case)
    assert told.outcome != "untrue", told.causes
    assert (told.outcome == "named") >= flags()[key(case)], (case["told"], told.causes)


@pytest.mark.parametrize(
    "number", [n for n, each in enumerate(cases()) if is_plain(each) and in_a_model(each)],
    ids=lambda number: cases()[number]["id"],
)  # fmt: skip
def test_plain_pods_in_a_model(number):
    """A diagnosis does not depend on the kind of what its pod belongs to."""
    told = told_in_a_model(number)
    assert told.outcome == told_of(cases()[number]).outcome, told.causes


LAST_WORDS = """\
(EngineCore pid=86) ERROR 06-01 13:18:13 [core.py:1341] EngineCore failed to start.
(APIServer pid=1) Traceback (most recent call last):
(APIServer pid=1)   File "/usr/local/bin/vllm", line 10, in <module>
(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
[rank0]:[W601 13:18:14.120 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called
multiprocessing/resource_tracker.py:279: UserWarning: resource_tracker: There appear to be 1 leaked shared_memory objects
Exception ignored in: <function LLMEngine.__del__ at 0x7f>
Traceback (most recent call last):
  File "vllm/engine/llm_engine.py", line 700, in __del__
    self.model_executor.shutdown()
AttributeError: 'LLMEngine' object has no attribute 'model_executor'
ERROR 06-01 13:18:15 [multiproc_executor.py:140] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.
ConnectionResetError: [Errno 104] Connection reset by peer
RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.4]:14215
[2025-06-01 13:18:15] Received sigquit from a child process. It usually means the child failed.
Error: ShardCannotStart
asyncio.exceptions.CancelledError
INFO:     Waiting for application shutdown.
Killed by signal 15
"""
"""What engines say while they end, whatever ended them."""


def test_last_words_do_not_hide_a_cause():
    """A cause stays what it is if all that fails after it is logged as well."""
    logs = [
        log
        for each in cases()
        for log in (each.get("pod", {}).get("log", ""), *each.get("logs", {}).values())
    ]
    found = {each: read_log(each, built_in()).cause.signature for each in logs}
    after = {each: read_log(f"{each.rstrip()}\n{LAST_WORDS}", built_in()) for each in logs}
    assert {each: name for each, name in found.items() if name} == {
        each: after[each].cause.signature for each, name in found.items() if name
    }


def test_flags_and_page_are_written():
    """`python -m tests.incidents --write` was run since what is told changed."""
    assert {key(each): told_of(each).outcome == "named" for each in cases()} == flags()
    assert PAGE.read_text() == page()
