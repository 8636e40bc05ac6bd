"""Pages stay short."""

from tests.unit.docs.pages import PAGES, ROOT, page

MOST_WORDS_FIRST = 2400
MOST_WORDS = 30_000
MOST_WORDS_OF_A_PAGE = 1100
MORE_WORDS = {
    "reasons.md": 5000,
    "alerts.md": 2600,
    "stacks.md": 2250,
    "runtime.md": 1650,
    "architecture.md": 1500,
    "operations.md": 1450,
    "dialects.md": 1400,
    "custom-components.md": 1250,
    "compatibility.md": 1200,
}
"""Pages of tables, most of which are rendered."""


def words(text):
    return len(text.split())


def test_what_is_read_first_does_not_grow():
    """Whoever adds a detail there moves another one to a page of reference."""
    first = (PAGES["README.md"], page("check.md"), page("install.md"))
    assert sum(map(words, first)) <= MOST_WORDS_FIRST


def test_no_page_grows():
    """What a table of the code says is linked and not repeated."""
    counted = {path.name: words(path.read_text()) for path in (ROOT / "docs").glob("*.md")}
    assert counted.keys() > MORE_WORDS.keys()
    longer = {
        name: count
        for name, count in counted.items()
        if count > MORE_WORDS.get(name, MOST_WORDS_OF_A_PAGE)
    }
    assert longer == {}
    assert sum(counted.values()) <= MOST_WORDS
