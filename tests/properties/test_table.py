"""A table that follows another is the table that would be made from nothing."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from reporter.model.objects import KubeObject, LabelSelector, Metadata
from reporter.snapshot.table import Table

NAMES = st.tuples(st.sampled_from("ab"), st.sampled_from("pqrst"))
LABELS = st.dictionaries(st.sampled_from(("app", "tier")), st.sampled_from(("x", "y")), max_size=2)
OBJECTS = st.dictionaries(NAMES, LABELS, max_size=10)
LOOKUPS = [(place, key, value) for place in "ab" for key in ("app", "tier") for value in "xy"]

SHOWS = [
    lambda each: each.metadata.label("app") == "x",
    lambda each: each.name == "t",
    lambda _: False,
]


def made(labels_of, known):
    """Objects with these labels; those that are as before are the same objects."""
    found = {}
    for (place, name), labels in labels_of.items():
        metadata = Metadata(name=name, namespace=place, labels=labels)
        obj = KubeObject(metadata=metadata)
        before = known.get((place, name))
        found[place, name] = before if before == obj else obj
    return found


def seen(table):
    """All that can be looked up."""
    selector = LabelSelector(match_labels={"app": "x"})
    return (
        list(table), [table.in_namespace(place) for place in ("a", "b", "")],
        [table.labelled(*lookup) for lookup in LOOKUPS], [table.showing(shows) for shows in SHOWS],
        [table.first(shows) for shows in SHOWS],
        [table.selected(place, selector) for place in "ab"], len(table),
    )  # fmt: skip


def touched(before, after):
    """The keys that a watch told of, one among them that came and went."""
    keys = before.keys() | after.keys()
    return {key for key in keys if before.get(key) is not after.get(key)} | {("a", "gone")}


@given(st.lists(st.tuples(OBJECTS, st.booleans(), st.booleans()), min_size=2, max_size=6))
def test_a_table_that_follows_another_is_one_that_is_made_from_nothing(story):
    """Whether it was asked anything in between or not, and was told what was touched or not."""
    objects, table = {}, Table()
    for labels_of, is_asked, is_told in story:
        before, objects = objects, made(labels_of, objects)
        table = Table(objects, table, touched(before, objects) if is_told else None)
        if is_asked:
            assert seen(table) == seen(Table(objects))
    assert seen(table) == seen(Table(objects))


@given(OBJECTS, OBJECTS, st.booleans())
def test_changes_are_the_objects_that_are_others(before, after, is_told):
    """Whoever is asked, with an index or without one."""
    old = made(before, {})
    new = made(after, old)
    first = Table(old)
    list(first)
    changes = set()
    for was, now in Table(new, first, touched(old, new) if is_told else None).changes(first):
        named = now or was
        changes.add((named.namespace, named.name))
    assert changes == {key for key in old.keys() | new.keys() if old.get(key) is not new.get(key)}


def test_a_large_table_with_one_change_is_mended():
    """The order and the indexes that nothing changed in are those of before."""
    objects = made({(str(n % 3), f"o{n}"): {"app": f"v{n}"} for n in range(300)}, {})
    first = Table(objects)
    list(first)
    first.labelled("1", "app", "v1")
    changed = msgspec.structs.replace(
        objects["1", "o1"], metadata=Metadata(name="o1", namespace="1")
    )
    second = Table({**objects, ("1", "o1"): changed}, first)
    assert second.labelled("1", "app", "v1") == ()
    assert second.labelled("1", "app", "v4") is first.labelled("1", "app", "v4")
    assert first.labelled("1", "app", "v1") == (objects["1", "o1"],)
