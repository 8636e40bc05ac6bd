"""Rules of users about conditions: which objects fail them, and what each failure is about."""

import pytest

from reporter.stacks.kaito.reasons import INFERENCESETS
from tests.unit.probes.building import (
    DELETING,
    SINCE_AT,
    condition,
    document,
    namespace,
)
from tests.unit.probes.custom.declared import GRIDS, WIDGETS, found, says, widget

READY = {"layer": "cluster", "reason": "clusterWidgetNotReady", "condition": WIDGETS | {"type": "Ready"}}  # fmt: skip
HARNESS = READY | {"layer": "modelharness", "reason": "modelharnessWidgetNotReady"}
MODEL = READY | {"layer": "modeldeployment", "reason": "inferencesetWidgetNotReady"}

FAILS = condition("Ready", "False", "BackendDown", "no backend answers")
DEMO = namespace("demo", managed=True)


def with_rule(component: dict, **fields) -> dict:
    return component | {"condition": component["condition"] | fields}


def inferenceset(name: str, *patches: dict) -> dict:
    return document("InferenceSet", name, "demo", {"spec": {"replicas": 1}}, *patches)


def owned(kind: str, name: str, uid: str = "") -> dict:
    owner = {"kind": kind, "name": name, "uid": uid or f"uid-{name}"}
    return {"metadata": {"ownerReferences": [owner]}}


def generation(number: int) -> dict:
    return {"metadata": {"generation": number}}


SILENT = {
    "the wanted status": widget("w", says(condition("Ready", "True"))),
    "unknown": widget("w", says(condition("Ready", "Unknown", "Pending"))),
    "an empty status": widget("w", says(condition("Ready", ""))),
    "another condition": widget("w", says(condition("Synced", "False"))),
    "no conditions yet": widget("w", {"status": {}}),
    "conditions that are null": widget("w", {"status": {"conditions": None}}),
    "no status yet": widget("w"),
    "being deleted": widget("w", says(FAILS), DELETING),
}


@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    """What has the status, says nothing yet, or is on its way out is no fault."""
    assert found(READY, DEMO, SILENT[name]) == []


def test_an_object_that_fails_is_told():
    """Since its condition took that status, in the words of its controller."""
    (finding,) = found(READY, DEMO, widget("w", says(FAILS)))
    assert (str(finding.subject), str(finding.involved), str(finding.related)) == (
        "cluster", "Namespace demo", "Widget demo/w",
    )  # fmt: skip
    assert finding.message == ("Widget demo/w: Ready is False, BackendDown: no backend answers")
    assert finding.cause == "Ready is False (BackendDown)"
    assert (finding.transition, finding.sustains, finding.governs) == (SINCE_AT, False, False)


def test_a_condition_that_should_be_false():
    """Pressure, Degraded and Stalled are well when they are False."""
    rule = with_rule(READY, type="Stalled", status="False")
    assert found(rule, DEMO, widget("w", says(condition("Stalled", "False")))) == []
    (finding,) = found(rule, DEMO, widget("w", says(condition("Stalled", "True", "Deadlock"))))
    assert finding.message == "Widget demo/w: Stalled is True, Deadlock"


def test_objects_without_a_namespace():
    rule = READY | {"condition": GRIDS | {"type": "Ready"}}
    (finding,) = found(rule, widget("g", says(FAILS), namespace="", kind="Grid"))
    assert (str(finding.involved), str(finding.related)) == ("Namespace kube-system", "Grid g")


OUTDATED = {
    "the condition says so": widget("w", generation(3), says(FAILS | {"observedGeneration": 2})),
    "the status says so": widget("w", generation(3), says(FAILS, observedGeneration=2)),
    "as text": widget("w", generation(3), says(FAILS, observedGeneration="2")),
}
CURRENT = {
    "nothing is said of it": widget("w", generation(3), says(FAILS)),
    "the condition is new": widget("w", generation(3), says(FAILS | {"observedGeneration": 3})),
    "the condition knows better than the status": widget(
        "w", generation(3), says(FAILS | {"observedGeneration": 3}, observedGeneration=2)
    ),
    "zero, which is what some write for nothing": widget(
        "w", generation(3), says(FAILS | {"observedGeneration": 0}, observedGeneration=0)
    ),
    "no number": widget("w", generation(3), says(FAILS, observedGeneration="latest")),
}


@pytest.mark.parametrize("name", OUTDATED)
def test_a_condition_of_an_earlier_spec_begins_nothing(name):
    """It may be about what was just corrected; what fires because of it goes on."""
    (finding,) = found(READY, DEMO, OUTDATED[name])
    assert finding.sustains


@pytest.mark.parametrize("name", CURRENT)
def test_a_condition_counts_unless_it_is_of_an_earlier_spec(name):
    (finding,) = found(READY, DEMO, CURRENT[name])
    assert not finding.sustains


def test_the_generation_that_an_inferenceservice_observed_is_another_objects():
    kind = {
        "group": "serving.kserve.io", "version": "v1beta1", "plural": "inferenceservices",
        "kind": "InferenceService",
    }  # fmt: skip
    rule = READY | {"condition": kind | {"type": "Ready"}}
    doc = document(
        "InferenceService", "i", "demo", {"apiVersion": "serving.kserve.io/v1beta1"},
        generation(3), says(FAILS, observedGeneration=1),
    )  # fmt: skip
    (finding,) = found(rule, DEMO, doc)
    assert not finding.sustains


def test_a_harness_condition_is_about_its_workload_namespace():
    """Elsewhere there is no subject that it could be about."""
    findings = found(
        HARNESS, DEMO, namespace("other"), widget("a", says(FAILS)),
        widget("b", says(FAILS), namespace="other"),
    )  # fmt: skip
    assert [str(each.subject) for each in findings] == ["namespace/demo"]
    assert findings[0].message.startswith("Widget demo/a: Ready is False")


def test_a_model_is_named_by_a_label():
    rule = with_rule(MODEL, subject_label="example.com/model")

    def labelled(name: str, model: str) -> dict:
        labels = {"metadata": {"labels": {"example.com/model": model}}}
        return widget(name, says(FAILS), labels)

    docs = [DEMO, inferenceset("qwen"), inferenceset("going", DELETING)]
    widgets = [labelled("a", "qwen"), labelled("b", "gone"), labelled("c", "going")]
    (finding,) = found(rule, *docs, *widgets, widget("d", says(FAILS)))
    assert str(finding.subject) == "inferenceset/demo/qwen"
    assert finding.message == (
        "InferenceSet demo/qwen: Widget demo/a: Ready is False, BackendDown: no backend answers"
    )


OWNERS = {
    "by the set itself": [],
    "by its Workspace": [
        document("Workspace", "ws", "demo", owned("InferenceSet", "qwen")),
    ],
    "by what its Workspace made": [
        document("Workspace", "ws", "demo", owned("InferenceSet", "qwen")),
        document("Deployment", "d", "demo", owned("Workspace", "ws")),
    ],
}


@pytest.mark.parametrize("name", OWNERS)
def test_a_model_owns_the_object(name):
    chain = OWNERS[name]
    last = chain[-1] if chain else inferenceset("qwen")
    owner = owned(last["kind"], last["metadata"]["name"])
    (finding,) = found(MODEL, DEMO, inferenceset("qwen"), *chain, widget("w", says(FAILS), owner))
    assert str(finding.subject) == "inferenceset/demo/qwen"


def test_what_kaito_made_names_its_model():
    label = {"metadata": {"labels": {"inferenceset.kaito.sh/created-by": "qwen"}}}
    (finding,) = found(MODEL, DEMO, inferenceset("qwen"), widget("w", says(FAILS), label))
    assert str(finding.subject) == "inferenceset/demo/qwen"


NOBODYS = {
    "nobody": {},
    "somebody of another kind": owned("Workspace", "qwen", uid="uid-qwen"),
    "an earlier set of that name": owned("InferenceSet", "qwen", uid="an earlier one"),
    "a set of that name elsewhere": owned("InferenceSet", "elsewhere"),
    "itself": owned("Widget", "w"),
}


@pytest.mark.parametrize("name", NOBODYS)
def test_what_no_model_owns_is_about_none(name):
    """Owners live in the namespace of what they own, and are told apart by uid."""
    elsewhere = document("InferenceSet", "elsewhere", "other", {"spec": {"replicas": 1}})
    docs = [DEMO, namespace("other", managed=True), inferenceset("qwen"), elsewhere]
    assert found(MODEL, *docs, widget("w", says(FAILS), NOBODYS[name])) == []


def test_a_model_is_its_own_subject():
    """A rule about the kind itself; its message does not name it twice."""
    kind = {
        "group": INFERENCESETS.group, "version": "v1beta1", "plural": "inferencesets",
        "kind": "InferenceSet",
    }  # fmt: skip
    rule = MODEL | {"condition": kind | {"type": "Audited"}}
    failing = inferenceset("qwen", says(condition("Audited", "False", "Outdated")))
    (finding,) = found(rule, DEMO, inferenceset("phi"), failing)
    assert finding.message == "InferenceSet demo/qwen: Audited is False, Outdated"
    assert str(finding.subject) == "inferenceset/demo/qwen"
    assert str(finding.involved) == "Namespace demo"


def test_only_selected_objects_count():
    rule = with_rule(READY, selector="tier in (a, b),!canary")
    labels = [{"tier": "a"}, {"tier": "b", "canary": "x"}, {"tier": "c"}, {}]
    widgets = [
        widget(f"w{number}", says(FAILS), {"metadata": {"labels": each}})
        for number, each in enumerate(labels)
    ]
    assert [each.related.name for each in found(rule, DEMO, *widgets)] == ["w0"]
