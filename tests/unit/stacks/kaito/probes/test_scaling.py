"""inferencesetScalingMisconfigured: annotations that KAITO's scaler refuses."""

import pytest

from reporter.stacks.kaito.reasons import MODEL_SCALING
from tests.unit.stacks.kaito.probes.kaito import NS, SET, findings, only, stack

METRIC = "{name: 'vllm:num_requests_waiting', type: gauge, upthreshold: 10, downthreshold: 1}"
GOOD = {"max-replicas": "3", "metrics": f"[{METRIC}]"}


def scaled(*, limit=None, replicas=1, switch="true", **annotations):
    values = {"auto-provision": switch} | GOOD
    values |= {key.replace("_", "-"): value for key, value in annotations.items()}
    named = {
        f"scaledobject.kaito.sh/{key}": value for key, value in values.items() if value is not None
    }
    spec = {"replicas": replicas} | ({"nodeCountLimit": limit} if limit is not None else {})
    return stack(set={"metadata": {"annotations": named}, "spec": spec})


def told(**changes):
    return [each.message for each in findings(scaled(**changes), MODEL_SCALING)]


def metric(**fields):
    base = {"name": "waiting", "type": "gauge", "upthreshold": "10", "downthreshold": "1"}
    parts = (f"{key}: {value}" for key, value in (base | fields).items() if value is not None)
    return f"- {{{', '.join(parts)}}}"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"max_replicas": "three"}, 'max-replicas "three" is not an integer'),
        ({"max_replicas": " 3"}, "is not an integer"),
        ({"max_replicas": "1"}, "max-replicas 1 is not above 1"),
        ({"max_replicas": None}, "max-replicas and spec.nodeCountLimit are not set"),
        ({"max_replicas": None, "limit": 0}, "are not set"),
        ({"min_replicas": "4"}, "max-replicas 3 is below min-replicas 4"),
        ({"max_replicas": None, "limit": 2, "min_replicas": "3"}, "is below min-replicas 3"),
        ({"replicas": 5}, "max-replicas 3 is below spec.replicas 5"),
        ({"metrics": None}, "metrics is empty"),
        ({"metrics": "[]"}, "metrics is empty"),
        ({"metrics": "{a: 1}"}, "metrics is not a list"),
        ({"metrics": "[unclosed"}, "metrics is not valid YAML"),
        ({"metrics": "!!python/object:os.system []"}, "metrics is not valid YAML"),
        ({"metrics": "[1]"}, "metrics[0] is not a mapping"),
        ({"metrics": metric(name=None)}, "metrics[0] has no name"),
        ({"metrics": metric(type="counter")}, "type is neither gauge nor histogram"),
        ({"metrics": metric(type=None)}, "type is neither gauge nor histogram"),
        ({"metrics": metric(source="prometheus")}, "source prometheus is unknown"),
        ({"metrics": metric(upthreshold=None)}, "upthreshold is missing"),
        ({"metrics": metric(downthreshold=None)}, "downthreshold is missing"),
        ({"metrics": metric(upthreshold=".inf")}, "upthreshold .inf is not a finite number"),
        ({"metrics": metric(upthreshold=".nan")}, "is not a finite number"),
        ({"metrics": metric(upthreshold="'10'")}, "is not a finite number"),
        ({"metrics": metric(upthreshold="'1e3'")}, "upthreshold 1e3 is not a finite number"),
        ({"metrics": metric(upthreshold="1e400")}, "upthreshold 1e400 is not a finite number"),
        ({"metrics": metric(downthreshold="1e3")}, "downthreshold 1000.0 is above upthreshold 10"),
        ({"metrics": metric(upthreshold="1" + "0" * 400)}, "is not a finite number"),
        ({"metrics": metric(upthreshold="0", downthreshold="0")}, "upthreshold 0 is not above 0"),
        ({"metrics": metric(upthreshold="-1", downthreshold="-2")}, "is not above 0"),
        ({"metrics": metric(downthreshold="11")}, "downthreshold 11 is above upthreshold 10"),
        ({"metrics": metric(metriccachewindow="60")}, "metriccachewindow is for histograms only"),
        (
            {"metrics": metric(type="histogram", metriccachewindow="0")},
            "metriccachewindow 0 is not",
        ),
        (
            {"metrics": "\n".join((metric(name="a_b"), metric(name="'a:b'")))},
            "metric a:b collides with a_b",
        ),
        ({"evaluationwindow": "-1"}, 'evaluationwindow "-1" is not a number of seconds'),
        ({"scaleupcooldown": "1m"}, "scaleupcooldown"),
        ({"scaledowncooldown": "1.5"}, "scaledowncooldown"),
        ({"combinepolicy": "OR"}, 'combinepolicy "OR" is not AND'),
    ],
)
def test_values_that_can_never_work_are_told_at_once(changes, words):
    """They are static, so there is no grace; the message names the value."""
    finding = only(scaled(**changes), MODEL_SCALING)
    assert finding.message.startswith(f"InferenceSet {NS}/{SET}: ")
    assert words in finding.message
    assert finding.exempt
    assert finding.related.kind == "InferenceSet"


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"min_replicas": "1", "replicas": 3},
        {"min_replicas": "2", "max_replicas": "2", "replicas": 2},
        {"max_replicas": None, "limit": 4},
        {"min_replicas": "whatever"},
        {"metrics": metric(type="histogram", metriccachewindow="300", source="modelpod")},
        {"metrics": metric(source="epp", upthreshold="10.5", downthreshold="10.5")},
        {"metrics": metric(upthreshold="1e3", downthreshold="5E-1")},
        {"metrics": metric(upthreshold="1.5e3", downthreshold=".5")},
        {"metrics": '[{"Name": "a", "Type": "gauge", "upThreshold": 2, "downThreshold": 1}]'},
        {"metrics": f"{metric(name='a')}\n{metric(name='b')}"},
        {"min_replicas": "0", "metrics": metric(upthreshold=None, downthreshold=None)},
        {"min_replicas": "0", "max_replicas": "1"},
        {"evaluationwindow": "0", "scaleupcooldown": "300", "scaledowncooldown": ""},
        {"combinepolicy": "and"},
        {"threshold": "0"},
    ],
)
def test_values_that_the_scaler_takes_are_silent(changes):
    """Replicas inside the range, defaults, scaling to zero and deprecated values raise nothing."""
    assert told(**changes) == []


@pytest.mark.parametrize("switch", [None, "false", "True", ""])
def test_settings_of_scaling_that_is_off_do_not_matter(switch):
    """Only exactly "true" turns scaling on."""
    assert told(switch=switch, max_replicas="0", metrics="[") == []


def test_all_refused_values_are_told_in_one_finding():
    """One look is enough to correct them all."""
    (message,) = told(max_replicas="2", replicas=3, combinepolicy="OR", metrics="[]")
    for words in ("below spec.replicas 3", "metrics is empty", "not AND"):
        assert words in message


@pytest.mark.parametrize(
    "text",
    [
        "- " + "x" * 20_000,
        "a: &a [1]\nb: [*a, *a]",
        "x0: &x0 {k: v}\n"
        + "\n".join(f"x{n}: &x{n} {{<<: [*x{n - 1}, *x{n - 1}]}}" for n in range(1, 40)),
        "[" * 10_000,
        "[" + "1," * 8_000 + "]",
    ],
    ids=["huge", "alias", "merge bomb", "deep", "long"],
)
def test_texts_made_to_hurt_are_left_alone(text):
    """Reading an annotation takes bounded time and memory, whatever a tenant writes there."""
    assert told(metrics=text) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ('!!int ""', "metrics is not valid YAML"),
        ("!!bool x", "metrics is not valid YAML"),
        ("!!timestamp x", "metrics is not valid YAML"),
        ("0x" + "f" * 4000, "metric 0xffff"),
        ("1" + ":0" * 3000, "metric 1:0:0:0"),
        (f"a, ? 0x{'f' * 4000} : 1, type: x", "metric a: type is neither gauge nor histogram"),
    ],
    ids=["no integer", "no boolean", "no time", "long hexadecimal", "long sexagesimal", "long key"],
)
def test_scalars_that_cannot_be_read_end_nothing(name, words):
    """One annotation that no parser expects must not stop what is said of everybody else."""
    (message,) = told(metrics=f"[{{name: {name}}}]")
    assert words in message


def test_hostile_values_are_clean_and_bounded():
    """Values of annotations are other people's text."""
    (message,) = told(max_replicas="https://x.example/" + "y" * 5000, combinepolicy="a\nb")
    assert "https://" not in message
    assert "\n" not in message
    assert len(message.encode()) < 400
