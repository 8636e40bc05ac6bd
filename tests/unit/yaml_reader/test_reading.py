import pytest

from reporter.yaml_reader.limits import LIMITS, Unreadable
from reporter.yaml_reader.reading import Ending, YamlReader


def parse(text):
    return list(YamlReader().documents(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-11-20T12:00:00Z", "2026-11-20T12:00:00Z"),
        ("2026-11-20", "2026-11-20"),
        ('"True"', "True"),
        ("True", True),
        ("yes", True),
        ("off", False),
        ("~", None),
        ("null", None),
        ("12", 12),
        ("-3", -3),
        ("0x1F", 31),
        ("0644", 420),
        ("0o644", 420),
        ("1_000", 1000),
        ("12:30:00", "12:30:00"),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("0640f2", "0640f2"),
        ("08", 8.0),
        ("1.2.3", "1.2.3"),
        ("=", "="),
        ("-", [None]),
        ("10.0.0.1", "10.0.0.1"),
        ("123456789012345678901234567890", 1.2345678901234568e29),
        ("!!str 12", "12"),
        ("!!int '12'", 12),
        ("!!binary aGk=", "aGk="),
        ("!!timestamp 2026-11-20", "2026-11-20"),
        ("|\n  a\n  b\n", "a\nb\n"),
        ("[a, {b: c}]", ["a", {"b": "c"}]),
    ],
)
def test_scalars_are_read_as_kubectl_reads_them(text, value):
    """Times stay text, and what looks like a number is one only where kubectl says so."""
    assert parse(f"value: {text}" if text != "-" else "value:\n-") == [{"value": value}]


def test_keys_are_text():
    """Keys that look like numbers or booleans become text, as in JSON."""
    assert parse("{1: a, true: b, ~: c}") == [{"1": "a", "true": "b", "~": "c"}]


def test_aliases_and_merge_keys_are_resolved():
    """An alias stands for what it names; keys written out win over merged ones."""
    text = "base: &b {x: 1, y: 2}\nother: {<<: *b, y: 3}\nlist: [*b]\nmany: {<<: [*b, {z: 4}]}\n"
    assert parse(text) == [
        {
            "base": {"x": 1, "y": 2},
            "other": {"y": 3, "x": 1},
            "list": [{"x": 1, "y": 2}],
            "many": {"x": 1, "y": 2, "z": 4},
        }
    ]


def test_documents_are_parsed_one_by_one():
    first, broken, last = parse("a: 1\n---\nb: [\n---\nc: 3\n")
    assert (first, last) == ({"a": 1}, {"c": 3})
    assert isinstance(broken, Unreadable)
    assert str(broken).startswith("line ")


def test_line_numbers_count_from_the_start_of_the_file():
    (_, broken) = parse("a: 1\n---\nb: 1\n c: 2\n")
    assert str(broken).startswith("line 4: ")


@pytest.mark.parametrize(
    "text", ["", "\n", "---\n", "# only a comment\n", "---\n...\n", "%YAML 1.1\n"]
)
def test_empty_documents_are_nothing(text):
    assert parse(text) == []


def test_carriage_returns_end_lines():
    assert parse("a: 1\r\n---\r\nb: 2\r\n") == [{"a": 1}, {"b": 2}]


def bomb(levels):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        aliases = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} [{aliases}]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (bomb(9), "aliases expand to more than"),
        ("a: &a [*a]", "inside what it names"),
        ("a: *nowhere", "before or inside"),
        ("[" * (LIMITS.depth + 1) + "]" * (LIMITS.depth + 1), "levels deep"),
        ("- " * (LIMITS.depth + 1) + "x", "levels deep"),
        ("!!python/object/apply:os.system ['true']", "is not accepted"),
        ("a: !!python/name:os.system ''", "is not accepted"),
        ("a: !custom 1", "is not accepted"),
        ("? [a, b]\n: c", "key is not plain text"),
        ("a: {<<: 5}", "merge key"),
        ("a: b: c", "mapping values are not allowed"),
        ("a: \x01", "control characters"),
        ("\t- a", "line 1"),
    ],
)
def test_what_is_beyond_the_bounds_is_refused(text, says):
    """Bombs, foreign tags and broken text are refused with a cause, and quickly."""
    (error,) = parse(text)
    assert isinstance(error, Unreadable)
    assert says in str(error)


def test_the_alias_budget_is_shared_by_all_documents():
    """Many documents that expand a little are bounded like one that expands much."""
    text = "\n---\n".join([bomb(5)] * 12)
    results = parse(text)
    assert isinstance(results[0], dict)
    assert isinstance(results[-1], Unreadable)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("apiVersion: v1\nkind: A\napiVersion: v1\nkind: B\n", ["A", "B"]),
        ("kind: A\napiVersion: v1\nkind: B\napiVersion: v1\n", ["A", "B"]),
        ("apiVersion: v1\nkind: A\nkind: B\napiVersion: v1\n", ["A", "B"]),
        ("apiVersion: v1\nkind: A\n---\nkind: B\napiVersion: v1\n", ["A", "B"]),
        ("apiVersion: v1\nkind: A\nspec:\n  kind: X\n  apiVersion: x\n", ["A"]),
        ("apiVersion: v1\nkind: A\ndata: |\n  kind: B\n  apiVersion: v1\n", ["A"]),
        ("apiVersion: v1\nkind: A\n# a remark\napiVersion: v1\nkind: B\n", ["A", "B"]),
    ],
)
def test_a_second_beginning_is_the_next_document(text, values):
    """A loop of `kubectl get ... >> file` writes no `---`."""
    assert [each["kind"] for each in YamlReader().documents(text)] == values


def test_what_is_broken_between_two_beginnings_costs_neither():
    text = "apiVersion: v1\nkind: A\napiVersion: v1\nkind: [\napiVersion: v1\nkind: C\n"
    first, broken, last = YamlReader().documents(text)
    assert (first["kind"], last["kind"]) == ("A", "C")
    assert isinstance(broken, Unreadable)
    assert broken.part == {"apiVersion": "v1", "kind": []}


@pytest.mark.parametrize(
    ("text", "endings"),
    [
        ("apiVersion: v1\nkind: A\n", [Ending.WHOLE]),
        ("apiVersion: v1\nkind: A", [Ending.OPEN]),
        ("apiVersion: v1\nkind: {}", [Ending.WHOLE]),
        (
            "apiVersion: v1\nkind: A\n  namapiVersion: v1\nkind: B\n",
            [Ending.RUN_INTO, Ending.WHOLE],
        ),
        ("apiVersion: v1\nkind: A\nkind: B\napiVersion: v1\n", [Ending.WHOLE, Ending.WHOLE]),
        (
            "apiVersion: v1\nkind: A\nnamapiVersion: v1\nkind: B\nmetadata: {}\napiVersion: v1\n",
            [Ending.RUN_INTO, Ending.WHOLE, Ending.WHOLE],
        ),
    ],
    ids=["whole", "no line break", "closed", "run into", "kind first", "run into, then whole"],
)
def test_how_a_document_ends(text, endings):
    """What is cut off in a line swallows the beginning of the next document."""
    assert [each.ending for each in YamlReader().passages(text)] == endings


def test_what_was_complete_before_a_fault_is_kept():
    """The entries of a list that are whole, and how far the last one goes."""
    text = "apiVersion: v1\nitems:\n- kind: A\n- kind: B\n  metadata:\n    name: b\n    labels: {"
    (broken,) = YamlReader().documents(text)
    assert broken.part == {"apiVersion": "v1", "items": [{"kind": "A"}]}
    assert broken.unfinished == {"kind": "B", "metadata": {"name": "b", "labels": {}}}


def test_many_beginnings_take_time_in_proportion():
    """A text of nothing but first keys is no trap."""
    text = "metadata: x\n" * 20_000
    assert len(list(YamlReader().documents(text))) == 20_000
