"""The glossary has each word once, and those that the program itself speaks."""

import re

from reporter.model.finding import Finding
from reporter.model.report import Disposition
from reporter.model.subject import Layer
from tests.unit.docs.pages import PAGES, page

PAGE = page("glossary.md")
ENTRIES = re.findall(r"^\*\*([^*]+)\*\*: (.+(?:\n.+)*)", PAGE, re.MULTILINE)
WORDS = [word for word, _ in ENTRIES]

KEY_WORDS = {
    "condition", "finding", "reason", "subject", "involvedObject", "related", "disposition",
    "stale", "unknown", "undecided", "verdict", "ready", "evidence",
    "grace", "budget", "window", "episode", "pass", "resync",
    "cause", "upstream", "downstream", "suppress", "hold", "mute", "chain", "priority", "primary",
    "informer", "relist", "snapshot", "confirmed", "record", "look", "sample",
    "sink", "outbox", "mirror", "lease", "leader", "standby", "fence",
    "stack", "component", "controller", "derived status", "drift",
}  # fmt: skip
MARKS = {"exempt", "governs", "independent", "sustains", "lingers"}


def test_no_word_is_explained_twice():
    """Two meanings of one word are what the page is there to prevent."""
    assert sorted({word.lower() for word in WORDS}) == sorted(word.lower() for word in WORDS)


def test_every_disposition_has_an_entry():
    """A reader who meets one in a report finds it here under the same word."""
    assert set(Disposition) <= set(WORDS)


def test_key_words_and_marks_of_findings_have_entries():
    """The words of the pages, and those that a finding carries."""
    assert set(WORDS) >= KEY_WORDS | MARKS
    assert set(Finding.__dataclass_fields__) >= MARKS


def test_layers_are_named_as_in_the_labels_of_events():
    """A label's value can be looked up."""
    (meaning,) = (text for word, text in ENTRIES if word == "layer")
    assert set(re.findall(r"`([a-z]+)`", meaning)) == set(Layer)


def test_entries_are_short():
    """Nobody reads an essay at night: three lines at most."""
    assert [word for word, text in ENTRIES if text.count("\n") > 2] == []


def test_the_glossary_can_be_found():
    """README and the page on architecture lead to it."""
    assert "(glossary.md)" in page("README.md")
    assert "(docs/README.md)" in PAGES["README.md"]
    assert "(glossary.md" in page("architecture.md")
