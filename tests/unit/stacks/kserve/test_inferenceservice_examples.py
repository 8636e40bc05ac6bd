"""The example dump of a canary while its newest revision starts."""

import json

import pytest
import yaml

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
