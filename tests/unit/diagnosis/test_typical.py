"""What people meet most: each is told as its cause, in one sentence, and by nothing that says less."""

from pathlib import Path

import pytest
import yaml

from tests.incidents.score import report_of

CASES = yaml.safe_load(Path(__file__).with_name("typical.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_cause_is_told(case, tmp_path):
    report = report_of(case, tmp_path)
    causes = [each for each in report["findings"] if each["disposition"] == "firing"]
    assert [case["says"] in each["message"] for each in causes] == [True], [
        each["message"] for each in causes
    ]
    (cause,) = causes
    assert len(cause["message"].encode()) <= 1024
    assert case.get("no", "\n") not in cause["message"]
    diagnosis = cause.get("diagnosis") or {}
    wanted = {key: case[key] for key in ("sureness", "signature") if key in case}
    assert {key: diagnosis.get(key) for key in wanted} == wanted


def test_a_pod_that_never_ran_has_no_log_to_look_at(tmp_path):
    by_id = {each["id"]: each for each in CASES}
    for name in ("more-gpus-than-any-node-has", "no-such-tag", "secret-without-the-key"):
        folder = tmp_path / name
        folder.mkdir()
        (cause,) = [
            each for each in report_of(by_id[name], folder)["findings"] if each["commands"]
            if each["disposition"] == "firing"
        ]  # fmt: skip
        assert cause["commands"]
        assert not [each for each in cause["commands"] if " logs " in each]
