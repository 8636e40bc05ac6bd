"""Pages stay short."""

from tests.unit.docs.pages import PAGES, page

MOST_WORDS_FIRST = 3100


def test_what_is_read_first_does_not_grow():
    """Whoever adds a detail there moves another one to a page of reference.

    How the image is built stands below the guide to installing, and is none of it.
    """
    guide, _, _ = page("install.md").partition("\n# The image\n")
    first = (PAGES["README.md"], page("check.md"), guide)
    assert sum(len(text.split()) for text in first) <= MOST_WORDS_FIRST
