"""The findings as metrics, read back by the ecosystem's own parser."""

from prometheus_client.parser import text_string_to_metric_families

from reporter.model.report import Disposition, UnknownResource
from reporter.sinks.subject_metrics import metrics_text, report_prometheus
from tests.unit.sinks.page.reports import KAITO, NOW, PODS, finding, model, report


def samples(text):
    """Every sample by its name and labels; a series is there once."""
    found = [
        (sample.name, tuple(sorted(sample.labels.items())), sample.value, sample.timestamp)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
    assert len({each[:2] for each in found}) == len(found)
    # The textfile collector refuses a file with timestamps.
    assert all(each[3] is None for each in found)
    return {each[:2]: each[2] for each in found}


def values(text, name):
    return [value for (found, _), value in samples(text).items() if found == name]


def test_each_finding_is_a_series():
    """With its reason, what became of it, and since when where it fires."""
    told = report(
        finding(KAITO), finding(PODS, model("a"), Disposition.SUPPRESSED),
        unknown=(UnknownResource("pods", "forbidden"),),
    )  # fmt: skip
    text = report_prometheus(told)
    assert values(text, "status_reporter_check_success") == [1]
    assert values(text, "status_reporter_check_causes") == [1]
    assert values(text, "status_reporter_check_timestamp_seconds") == [NOW.timestamp()]
    assert values(text, "status_reporter_check_resources_unknown") == [1]
    labels = [dict(key[1]) for key in samples(text) if key[0] == "status_reporter_check_finding"]
    assert {(each["reason"], each["disposition"]) for each in labels} == {
        (KAITO, "firing"),
        (PODS, "suppressed"),
    }
    assert values(text, "status_reporter_check_finding_since_seconds") == [NOW.timestamp() - 300]


def test_names_from_elsewhere_cannot_break_a_line():
    """Quotes, backslashes and line breaks are escaped or cleaned."""
    odd = finding(PODS, model('a"\\b\nc'))
    (labels,) = (
        dict(key[1])
        for key in samples(report_prometheus(report(odd)))
        if key[0] == "status_reporter_check_finding"
    )
    assert labels["subject"].startswith('inferenceset/team/a"\\b')
    assert "\n" not in labels["subject"]


def test_a_cluster_that_could_not_be_judged_is_0():
    """Other clusters are told as without it."""
    text = metrics_text([({"context": "a"}, report()), ({"context": "b"}, None)])
    assert values(text, "status_reporter_check_success") == [1, 0]
    assert values(text, "status_reporter_check_causes") == [0]
