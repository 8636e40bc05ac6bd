import pytest

from reporter.yaml_reader.limits import BeyondLimits, Limits, Unreadable
from reporter.yaml_reader.reading import YamlReader, decoded, read_yaml


@pytest.mark.parametrize(
    ("limits", "text", "says", "line"),
    [
        (Limits(size=4), "a: 12", "larger than 4 characters", None),
        (Limits(depth=2), "a:\n  b:\n    c: 1", "nested more than 2 levels", 3),
        (Limits(nodes=4), "a: 1\nb:\n- 2", "more than 4 values", 3),
        (Limits(aliases=2), "a: &a [1]\nb: *a\nc: *a", "expand to more than 2 values", 3),
        (Limits(aliases=0), "a: 1\nb: *nowhere", "expand to more than 0 values", 2),
    ],
)
def test_a_text_beyond_a_limit_is_refused_with_its_line(limits, text, says, line):
    """One more than allowed is too much; what is wrong with the rest does not matter."""
    with pytest.raises(BeyondLimits, match=says) as refused:
        read_yaml(text, limits=limits)
    assert refused.value.line == line


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (Limits(size=4), "a: 1"),
        (Limits(depth=2), "a:\n  b: 1"),
        (Limits(nodes=5), "a: 1\nb: 2"),
        (Limits(aliases=4), "a: &a [1]\nb: *a\nc: *a"),
        (Limits(aliases=12), "a: &a [1]\nb: &b [*a, *a]\nc: *b\nd: 1"),
    ],
)
def test_a_text_at_a_limit_is_read(limits, text):
    assert read_yaml(text, limits=limits)


def test_nodes_are_counted_over_all_texts():
    """Many small documents are bounded like a large one; the next text has them all again."""
    reader = YamlReader(Limits(nodes=6))
    first, second, error = reader.documents("a: 1\n---\nb: 2\n---\nc: 3\n")
    assert (first, second) == ({"a": 1}, {"b": 2})
    assert str(error) == "line 5: it has more than 6 values"
    (error,) = reader.documents("a: 1")
    assert str(error) == "line 1: it has more than 6 values"


def test_a_dump_that_is_too_large_is_one_broken_document():
    """It is refused before the parser sees it."""
    (error,) = YamlReader(Limits(size=3)).documents("a: 1")
    assert isinstance(error, BeyondLimits)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb: 2\na: 3", 3),
        ("x:\n- a: 1\n  'a': 1", 3),
        ("x: {<<: {a: 1}, <<: {b: 1}}", 1),
        ("x: &x a\n*x : 1\na: 2", 3),
    ],
)
def test_a_key_that_is_there_twice(text, line):
    """A file that a person wrote is refused; of what a program wrote, the last one counts."""
    with pytest.raises(Unreadable, match="is given twice") as refused:
        read_yaml(text, duplicate_keys="refuse")
    assert refused.value.line == line
    assert read_yaml(text)


def test_what_is_merged_is_no_second_key():
    """A merge is how a file says the same thing twice on purpose."""
    text = "a: &a {x: 1}\nb: {x: 2, <<: [*a, *a]}\nc: {<<: *a, x: 3}"
    found = read_yaml(text, duplicate_keys="refuse")
    assert found == {"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 3}}


@pytest.mark.parametrize("text", ["a: 1\n---\nb: 2", "a: 1\n---\n", "---\n---\n"])
def test_settings_are_one_document(text):
    with pytest.raises(Unreadable, match="second document"):
        read_yaml(text)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~", "null\n...\n"])
def test_nothing_is_none(text):
    assert read_yaml(text) is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings(encoding):
    """Editors and shells of Windows write a byte order mark."""
    assert decoded("ü: 1".encode(encoding)) == "ü: 1"
    with pytest.raises(Unreadable, match="not UTF-8"):
        decoded(b"\xff")
