"""The reported differences between two versions of an object are bounded."""

import pytest

from reporter.model.objects import Deployment, KubeObject, Metadata
from reporter.model.objects.base import (
    Annotations,
    Labels,
    LabelSelector,
    Part,
    SelectorRequirement,
)
from reporter.model.objects.gateway import RouteReference
from reporter.model.objects.pods import (
    Container,
    DeploymentSpec,
    DeploymentStrategy,
    PodSpec,
    PodTemplate,
)
from reporter.resolution.seen_changes import VALUE_BYTES, changed_fields


def deployment(images):
    containers = tuple(Container(name=f"c{n}", image=image) for n, image in enumerate(images))
    template = PodTemplate(spec=PodSpec(containers=containers))
    return Deployment(metadata=Metadata(name="d"), spec=DeploymentSpec(template=template))


def told(*images):
    return changed_fields(deployment(["old"] * len(images)), deployment(images))


@pytest.mark.parametrize(("changed", "expected"), [(1, 1), (8, 8), (9, 8), (20, 8)])
def test_at_most_eight_fields_are_told(changed, expected):
    """If every container has another image, the first eight are reported."""
    assert len(told(*["new"] * changed)) == expected


@pytest.mark.parametrize(("length", "whole"), [(120, True), (121, False)])
def test_a_value_has_at_most_120_bytes(length, whole):
    (change,) = told("i" * length)
    assert len(change.after.encode()) == VALUE_BYTES == 120
    assert (change.after == "i" * length) is whole


class Names(Part, frozen=True):
    """Fields of many kinds whose text values are reported."""

    image: str = ""
    gateway_class_name: str = ""
    controller_name: str = ""
    scheduler_name: str = ""
    failure_mode: str = ""
    type: str = ""
    recovery_policy: str = ""
    name: str = ""
    kind: str = ""
    namespace: str = ""


class Selectors(Part, frozen=True):
    """Fields of many kinds that are reported as a whole."""

    selector: Labels | None = None
    match_labels: Labels | None = None
    pod_selector: Labels | None = None


class Others(Part, frozen=True):
    """Fields whose text values may contain a credential."""

    command: str = ""
    value: str = ""


class Entry(Part, frozen=True):
    """One of a list."""

    name: str | None = None
    image: str = ""


class Nested(Part, frozen=True):
    """Parts of parts."""

    inner: Names = Names()
    entries: tuple[Entry, ...] | None = ()
    selector: LabelSelector = LabelSelector()
    parent_refs: tuple[RouteReference, ...] = ()
    backend_refs: tuple[RouteReference, ...] = ()


class Deep(Part, frozen=True):
    """Parts of parts of parts."""

    nested: Nested = Nested()


class Anything(KubeObject, frozen=True):
    """An object with any of these in its desired state."""

    metadata: Metadata
    spec: Names | Selectors | Others | Nested | Deep | None = None
    data: Others | None = None


def anything(annotations=None, **parts):
    return Anything(metadata=Metadata(name="a", annotations=annotations), **parts)


@pytest.mark.parametrize("field", Names.__struct_fields__)
def test_names_of_objects_and_of_ways_to_work_are_told(field):
    before, after = (anything(spec=Names(**{field: text})) for text in ("one", "other"))
    (change,) = changed_fields(before, after)
    encoded = dict(zip(Names.__struct_fields__, Names.__struct_encode_fields__, strict=True))
    assert change == (f"spec.{encoded[field]}", "one", "other")


@pytest.mark.parametrize("field", Selectors.__struct_fields__)
def test_selectors_are_told_as_a_whole(field):
    labels = ({"b": "1", "a": "2"}, {"b": "1"})
    before, after = (anything(spec=Selectors(**{field: each})) for each in labels)
    (change,) = changed_fields(before, after)
    assert change[1:] == ("a=2,b=1", "b=1")


@pytest.mark.parametrize(
    ("field", "before", "after", "expected"),
    [
        ("replicas", 0, 3, ("spec.replicas", "0", "3")),
        ("paused", True, False, ("spec.paused", "true", "false")),
        ("paused", None, True, ("spec.paused", "unset", "true")),
        ("strategy", DeploymentStrategy(type="Recreate"), None, ("spec.strategy", "", "")),
    ],
    ids=["number", "switch", "switch that was not set", "part that is gone"],
)
def test_numbers_and_switches_are_told(field, before, after, expected):
    """Unset values are reported too; for a part that comes or goes, only that it did."""
    changes = changed_fields(
        *(
            Deployment(metadata=Metadata(name="d"), spec=DeploymentSpec(**{field: each}))
            for each in (before, after)
        )
    )
    assert changes == (expected,)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Names(image=""), Names(image="i"), ('""', "i")),
        (Selectors(selector={}), Selectors(selector={"a": "1"}), ("unset", "a=1")),
        (Nested(selector=LabelSelector(match_labels={"a": "1"})), Nested(selector=LabelSelector()), ("a=1", "unset")),
    ],
    ids=["text", "labels", "selector"],
)  # fmt: skip
def test_what_is_empty_is_told_in_words(before, after, expected):
    """An empty value between "from" and "to" would be invisible."""
    (change,) = changed_fields(anything(spec=before), anything(spec=after))
    assert change[1:] == expected


@pytest.mark.parametrize("field", Others.__struct_fields__)
@pytest.mark.parametrize("part", ["spec", "data"])
def test_of_other_texts_only_that_they_changed(part, field):
    """A command, a value, and the data of a ConfigMap may be secret."""
    before, after = (anything(**{part: Others(**{field: text})}) for text in ("one", "other"))
    assert changed_fields(before, after) == ((f"{part}.{field}", "", ""),)


def test_a_field_is_told_once():
    """This includes lists with two entries of one name, of which either may have changed."""
    containers = [
        tuple(Container(name="c", image=f"{image}{number}") for number in (1, 2))
        for image in ("old", "new")
    ]
    before, after = (
        Deployment(
            metadata=Metadata(name="d"),
            spec=DeploymentSpec(template=PodTemplate(spec=PodSpec(containers=each))),
        )
        for each in containers
    )
    assert [each.field for each in changed_fields(before, after)] == [
        "spec.template.spec.containers[c].image"
    ]


A1, A2, B1, B2 = (Entry(name, f"{name}{number}") for name in "ab" for number in (1, 2))
UNNAMED = Entry(image="u1")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((A1, B1), (A1, B2), ("spec.entries[b].image", "b1", "b2")),
        ((A1,), (A1, B1), ("spec.entries", "", "")),
        ((A1, B1), (B1, A1), ("spec.entries", "", "")),
        ((UNNAMED,), (Entry(image="u2"),), ("spec.entries", "", "")),
        ((A1, UNNAMED), (A2, UNNAMED), ("spec.entries", "", "")),
        (None, (A1,), ("spec.entries", "", "")),
        ((A1,), None, ("spec.entries", "", "")),
    ],
)
def test_entries_of_a_list_are_told_by_their_names(before, after, expected):
    changes = changed_fields(*(anything(spec=Nested(entries=each)) for each in (before, after)))
    assert changes == (expected,)


@pytest.mark.parametrize(
    ("field", "before", "after", "expected"),
    [
        ("inner", Names(type="x"), Names(type="y"), ("spec.inner.type", "x", "y")),
        ("selector", LabelSelector(match_labels={"a": "1"}), LabelSelector(match_labels={"a": "2"}), ("spec.selector", "a=1", "a=2")),
        (
            "selector",
            LabelSelector(match_expressions=(SelectorRequirement("b", "Exists"),)),
            LabelSelector({"a": "1"}, (SelectorRequirement("b", "In", ("x", "y")),)),
            (
                "spec.selector",
                "matchExpressions: key: b operator: Exists",
                "a=1 matchExpressions: key: b operator: In values: x, y",
            ),
        ),
        ("parent_refs", (RouteReference(name="g"),), (RouteReference(name="g", namespace="n"),), ("spec.parentRefs", "g", "n/g")),
        (
            "backend_refs",
            (RouteReference(name="p"),),
            (RouteReference(name="p"), RouteReference(name="q")),
            ("spec.backendRefs", "p", "p, q"),
        ),
    ],
)  # fmt: skip
def test_parts_of_parts(field, before, after, expected):
    """They are named by their path; selectors and references are reported as a whole."""
    changes = changed_fields(*(anything(spec=Nested(**{field: each})) for each in (before, after)))
    assert changes == (expected,)


@pytest.mark.parametrize(
    ("field", "before", "after"),
    [
        ("parent_refs", (RouteReference(name="g"),), (RouteReference(name="g", kind="Service"),)),
        ("selector", None, LabelSelector()),
        ("selector", LabelSelector(match_labels={"a": "x" * 130}), LabelSelector(match_labels={"a": "x" * 131})),
    ],
    ids=["another kind", "unset and empty", "differs behind what is told"],
)  # fmt: skip
def test_what_reads_the_same_is_only_told_to_have_changed(field, before, after):
    (change,) = changed_fields(
        *(anything(spec=Nested(**{field: each})) for each in (before, after))
    )
    assert (change.before, change.after) == ("", "")


def test_a_selector_is_told_as_a_whole_wherever_it_stands():
    """The last name of the path decides."""
    before, after = (
        anything(spec=Deep(nested=Nested(selector=LabelSelector(match_labels={"a": each}))))
        for each in "12"
    )
    assert changed_fields(before, after) == (("spec.nested.selector", "a=1", "a=2"),)


MUTED = "metadata.annotations[status-reporter.io/mute]"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, Annotations(mute="all"), [(MUTED, "unset", "all")]),
        (Annotations(mute="all"), None, [(MUTED, "all", "unset")]),
        (Annotations(mute="all"), Annotations(mute="some"), [(MUTED, "all", "some")]),
        (Annotations(mute="all"), Annotations(mute="all"), []),
        (None, Annotations(), []),
        (None, None, []),
    ],
)
def test_annotations(before, after, expected):
    assert [*changed_fields(anything(before), anything(after))] == expected
