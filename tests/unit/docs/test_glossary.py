"""The glossary has each word once, and those that the program itself speaks."""

import re

from reporter.model.report import Disposition
from tests.unit.docs.pages import page

PAGE = page("glossary.md")
ENTRIES = re.findall(r"^\*\*([^*]+)\*\*: (.+(?:\n.+)*)", PAGE, re.MULTILINE)
WORDS = [word for word, _ in ENTRIES]


def test_no_word_is_explained_twice():
    assert sorted({word.lower() for word in WORDS}) == sorted(word.lower() for word in WORDS)


def test_every_disposition_has_an_entry():
    """A reader who meets one in a report finds it here under the same word."""
    assert set(Disposition) <= set(WORDS)
