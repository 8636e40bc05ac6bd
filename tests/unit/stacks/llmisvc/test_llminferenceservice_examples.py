"""The example dumps of LLMInferenceServices: what `check` says of each."""

import json

import pytest

SUBJECT = "llminferenceservice/llms/{}"

EXAMPLES = [
    # folder, what fires as (service, reason, part of the message), what is ready
    ("healthy", [], ["big", "llm", "pd"]),
    ("disaggregated", [], ["pd"]),
    (
        "broken",
        [
            ("big", "StatusStale", "does not match its objects, in WorkerWorkloadReady"),
            ("idle", "Stopped", "is stopped"),
            (
                "llm",
                "PodsNotCreated",
                "exceeded quota: gpus, requested: nvidia.com/gpu=8 (Deployment ",
            ),
            ("old", "Invalid", "house-defaults does not exist in llms nor in kserve; older pods"),
            ("pd", "ModelLoadFailed", "NixlConnector is not installed; no prefill pod is ready"),
        ],
        ["big"],
    ),
]


@pytest.mark.parametrize(("folder", "fires", "ready"), EXAMPLES, ids=[e[0] for e in EXAMPLES])
def test_example(run, examples, folder, *, fires, ready):
    """Each cause once, with what it does to requests; and what is ready, whatever KServe says."""
    path = examples / "llminferenceservice" / folder
    _, output, _ = run("check", "--from", str(path), "-o", "json")
    report = json.loads(output)
    firing = [each for each in report["findings"] if each["disposition"] == "firing"]
    told = sorted((each["subject"], each["reason"], each["message"]) for each in firing)
    assert [each[:2] for each in told] == [
        (SUBJECT.format(name), f"llminferenceservice{reason}") for name, reason, _ in fires
    ]
    assert [text for (_, _, text), (*_, message) in zip(fires, told, strict=True) if text not in message] == []  # fmt: skip
    subjects = {each["subject"] for each in report["ready"]}
    assert subjects - {"cluster"} == {SUBJECT.format(name) for name in ready}
