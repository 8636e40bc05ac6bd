"""Reading what PyYAML wrote, and text that nobody wrote."""

import re

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from reporter.stacks.otterscale.render import yaml_text
from reporter.yaml_reader.limits import Limits, Unreadable
from reporter.yaml_reader.reading import YamlReader, read_yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
LOOKS_LIKE_A_NUMBER = re.compile(r"[-+.]?[0-9]")
"""PyYAML writes some texts without quotes that Kubernetes takes for numbers: `1e3`, `0o7`."""

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**63), max_value=2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
)


def values(texts, keys=TEXTS):
    return st.recursive(
        SCALARS | texts,
        lambda each: st.lists(each, max_size=4) | st.dictionaries(keys, each, max_size=4),
        max_leaves=20,
    )


PIECES = ["a", "a: ", "- ", "\n", "  ", "{", "}", "[", "]", ",", "'", '"', "&a ", "*a", "<<: ", "? ", "---\n",
          "...\n", "!!int ", "!!str ", "!x ", "!!binary ", "|\n", ">\n", "#", "%YAML 1.1\n", "1e3", "0x", "_", ".inf",
          "~", "\\U00110000", "\t", "\r", "\x00", "\x85", "\ud800", "\ufeff", "é", ": "]  # fmt: skip


@given(values(TEXTS.filter(lambda text: not LOOKS_LIKE_A_NUMBER.match(text))))
def test_what_pyyaml_wrote_is_read_as_it_was(value):
    """Null, booleans, numbers of 64 bits, texts, lists and mappings survive a file."""
    assert read_yaml(yaml.safe_dump(value)) == value
    assert read_yaml(yaml.safe_dump(value, default_flow_style=True)) == value


@given(st.lists(st.dictionaries(TEXTS, values(TEXTS), min_size=1), max_size=3))
@example([{"next line": "a\x85b\n"}, {"line separator": "a\u2028b"}])
def test_what_render_wrote_is_read_as_it_was(documents):
    """Manifests put all in quotes that somebody could misread, so that there is no exception."""
    assert list(YamlReader().documents(yaml_text(documents))) == documents


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_no_text_ends_the_program(text):
    """Whatever is written there, it is a value or one known exception, and within the limits."""
    limits = Limits(depth=5, nodes=50, aliases=20)
    found = list(YamlReader(limits).documents(text))
    for duplicate_keys in ("last", "refuse"):
        try:
            found.append(read_yaml(text, limits=limits, duplicate_keys=duplicate_keys))
        except Unreadable as error:
            found.append(error)
    for each in found:
        assert isinstance(each, Unreadable | str | int | float | list | dict | None)
