"""The example dumps of InferenceServices: what `check` says of each."""

import json

import pytest
import yaml

SUBJECT = "inferenceservice/kserve-models/{}"
PLACE = "InferenceService kserve-models/{}: "

CANARY = "predictor: revision chat-predictor-00002 gets 20 percent of the requests, chat-predictor-00001 the rest"
BACK = "predictor is rolled back: requests go to chat-predictor-00001, none to chat-predictor-00002, which is ready"
NOT_LOADED = (
    "pod chat-predictor-00002-deployment-0: the model does not load: container kserve-container crashes "
    "(exit code 1); probably: GPU 0 (79.10 GiB) is full"
)
CRASHES = (
    "pod rerank-transformer-00001-deployment-0: container kserve-container waits in CrashLoopBackOff; last "
    "ended with Error (exit code 1): KeyError: 'query'; Ready is True all the same"
)
NOT_FETCHED = (
    "pod summary-predictor-00001-deployment-0: the model cannot be fetched: init container "
    "storage-initializer crashes (exit code 1); probably: S3 storage answers 403"
)
EXAMPLES = [
    # folder, what fires as (service, reason, how its message begins), what is ready
    ("healthy", [], ["chat", "embed", "rerank", "summary"]),
    ("canary", [("chat", "CanaryInProgress", CANARY)], ["chat"]),
    ("rolled-back", [("chat", "RolledBack", BACK)], ["chat"]),
    (
        "failing-load",
        [
            ("chat", "ModelLoadFailed", NOT_LOADED),
            ("rerank", "PodsNotReady", CRASHES),
            ("summary", "StorageFailed", NOT_FETCHED),
        ],
        [],
    ),
]


NOTICES = {"healthy", "canary", "rolled-back"}
"""Examples in which nothing is wrong: what is only noticed does not fail."""


@pytest.mark.parametrize(("folder", "fires", "ready"), EXAMPLES, ids=[e[0] for e in EXAMPLES])
def test_example(run, examples, folder, *, fires, ready):
    """Each cause once; what is ready; and a stored status that is as derived."""
    code, output, _ = run(
        "check", "--from", str(examples / "inferenceservice" / folder), "-o", "json"
    )
    report = json.loads(output)
    firing = [each for each in report["findings"] if each["disposition"] == "firing"]
    told = sorted((each["subject"], each["reason"], each["message"]) for each in firing)
    wanted = [
        (SUBJECT.format(name), f"inferenceservice{reason}", PLACE.format(name) + text)
        for name, reason, text in fires
    ]
    assert [each[:2] for each in told] == [each[:2] for each in wanted]
    for (_, _, message), (_, _, text) in zip(told, wanted, strict=True):
        assert message.startswith(text)
    assert [each["subject"] for each in report["ready"]] == [SUBJECT.format(name) for name in ready]
    assert not [each for each in report["findings"] if each["reason"].endswith("StatusStale")]
    assert code == int(folder not in NOTICES)


@pytest.mark.parametrize("folder", [each[0] for each in EXAMPLES])
def test_derived_revisions_are_the_stored_ones(run, examples, folder):
    """KServe was played by other code than what derives the status: both agree on every field."""
    path = examples / "inferenceservice" / folder
    _, output, _ = run("check", "--from", str(path), "-o", "json")
    derived = {each["name"]: each["status"] for each in json.loads(output)["derived"]}
    stored = yaml.safe_load((path / "inferenceservices.yaml").read_text())["items"]
    assert derived.keys() == {each["metadata"]["name"] for each in stored}
    for each in stored:
        status = each["status"]
        found = derived[each["metadata"]["name"]]
        assert found["components"] == status["components"]
        assert found["modelStatus"] == status["modelStatus"]
        assert {c["type"]: c["status"] for c in found["conditions"]} == {
            c["type"]: c["status"] for c in status["conditions"]
        }


FIRST, SECOND = "chat-predictor-00001", "chat-predictor-00002"
"""Revisions of the example `canary`; the second was made at 08:03:00."""


def starting(source, target):
    """The example `canary` while its second revision starts."""
    docs = {each.name: yaml.safe_load(each.read_text()) for each in source.iterdir()}
    halves = [
        {"revisionName": FIRST, "latestRevision": True, "percent": 20},
        {"revisionName": FIRST, "latestRevision": False, "percent": 80, "tag": "prev"},
    ]
    (service,) = docs["knative-services.yaml"]["items"]
    service["status"] |= {"latestReadyRevisionName": FIRST, "traffic": halves}
    (stored,) = docs["inferenceservices.yaml"]["items"]
    stored["status"]["components"]["predictor"] |= {"latestReadyRevision": FIRST, "traffic": halves}
    stored["status"]["modelStatus"]["transitionStatus"] = "InProgress"
    for part in (service, stored):
        for each in part["status"]["conditions"]:
            if each["lastTransitionTime"].startswith("2026-11-17"):
                each["status"] = "Unknown"
            if each["type"] == "LatestDeploymentReady":
                each["reason"] = "PredictorConfigurationReady not ready"
    for pod in docs["pods.yaml"]["items"]:
        if pod["metadata"]["name"].startswith(SECOND):
            pod["status"]["containerStatuses"][0]["ready"] = False
            for each in pod["status"]["conditions"]:
                if each["type"] in ("Ready", "ContainersReady"):
                    each["status"] = "False"
    for name, doc in docs.items():
        (target / name).write_text(yaml.safe_dump(doc))
    return target


@pytest.mark.parametrize(
    ("now", "disposition"), [("08:03:20", {"pending"}), ("08:33:00", {"firing", "secondary"})]
)
def test_a_dump_tells_a_start_from_one_that_takes_too_long(
    run, examples, tmp_path, *, now, disposition
):
    """The newest revision says since when it starts; what has no time of its own fires at once."""
    path = starting(examples / "inferenceservice" / "canary", tmp_path)
    _, output, _ = run(
        "check", "--from", path, "-o", "json", "--now", f"2026-11-17T{now}Z", "--stacks", "kaito=off"
    )  # fmt: skip
    found = {
        each["reason"].removeprefix("inferenceservice"): each["disposition"]
        for each in json.loads(output)["findings"]
    }
    assert found.keys() == {"PodsNotReady", "RevisionNotReady", "TrafficNotAsSpecified", "NotReady"}
    assert set(found.values()) == disposition
