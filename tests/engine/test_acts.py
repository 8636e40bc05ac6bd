"""What `make engine-check` holds an engine to, without an engine."""

import json
from dataclasses import replace

from reporter.catalogue import runtime as t
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from tests.engine import acts, recording, tiny_model
from tests.engine.installing import name_as_vllm, pinned

FULL = t.of_kind(t.KV_CACHE, INFERENCESET_KIND)
PREEMPTS = t.of_kind(t.PREEMPTION, INFERENCESET_KIND)
IDLE, BACKLOG = acts.Act("idle"), acts.Act("backlog", tells=frozenset({FULL}))
SLOW = replace(IDLE, passing=frozenset({PREEMPTS}))


def test_an_act_is_done_when_all_fires_that_has_to_and_nothing_else():
    assert BACKLOG.done(frozenset({FULL}))
    assert not BACKLOG.done(frozenset())
    assert not BACKLOG.done(frozenset({FULL, PREEMPTS}))
    assert SLOW.done(frozenset())
    assert SLOW.done(frozenset({PREEMPTS}))


def test_what_fires_without_a_cause_is_wrong():
    """What the act before had to tell may last into the next one, and no longer."""
    assert BACKLOG.wrong(frozenset({FULL, PREEMPTS}), IDLE) == {PREEMPTS}
    assert IDLE.wrong(frozenset({FULL}), BACKLOG) == frozenset()
    assert IDLE.wrong(frozenset({FULL}), IDLE) == {FULL}


def test_windows_are_shorter_by_the_same_factor_and_have_looks_enough():
    """So reasons come in the order in which they do in a cluster."""
    settings = acts.settings()
    windows = [settings.window_seconds(reason) for reason in t.RUNTIME_NAMES]
    usual = [t.ROWS[reason].window_seconds // acts.FASTER for reason in t.RUNTIME_NAMES]
    assert windows == usual
    assert settings.window_seconds(t.KV_CACHE) < acts.LASTS


def test_the_model_has_a_token_for_each_byte(tmp_path):
    """And two more, at the places that its configuration says."""
    folder = tiny_model.make(tmp_path / "model")
    config, tokenizer = (
        json.loads((folder / f"{name}.json").read_text()) for name in ("config", "tokenizer")
    )
    vocabulary = tokenizer["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(256 + 2)) == list(range(config["vocab_size"]))
    assert [vocabulary[each["content"]] for each in tokenizer["added_tokens"]] == [
        config["bos_token_id"],
        config["eos_token_id"],
    ]
    assert (vocabulary["a"], vocabulary["\u0120"]) == (ord("a"), ord(" "))


def test_vllm_finds_itself_in_the_environment(tmp_path):
    """Its command asks which release of `vllm` is installed, and by the end of it for which device."""
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    name_as_vllm(tmp_path, pinned())
    (metadata,) = packages.glob("vllm-*.dist-info/METADATA")
    assert f"Name: vllm\nVersion: {pinned()}+cpu\n" in metadata.read_text()


def test_recorded_pages_are_those_that_were_scraped_but_for_the_start_of_the_process(tmp_path):
    """Differences between times stay, as counters are compared within one life of a process."""
    page = b'# HELP x y\nprocess_start_time_seconds 1795420000.5\nvllm:x_created{engine="0"} 1.7954200015e+09\nvllm:x_total{engine="0"} 5.0\n'
    recording.save(tmp_path / "a.xz", {15: page, 0: b"other 1\n"})
    assert recording.load(tmp_path / "a.xz") == {
        0.0: b"other 1\n",
        15.0: b'# HELP x y\nprocess_start_time_seconds 1700000000.0\nvllm:x_created{engine="0"} 1700000001.0\nvllm:x_total{engine="0"} 5.0\n',
    }
