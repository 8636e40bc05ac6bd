"""Label selectors as text."""

import pytest

from reporter.model.resource import parse_selector

LABELS = {"app": "qdrant", "tier": "a", "example.com/part": ""}


@pytest.mark.parametrize(
    ("text", "selects"),
    [
        ("", True), ("app", True), ("app=qdrant", True), ("app==qdrant", True),
        ("app = qdrant , tier", True), ("app=other", False), ("app!=other", True),
        ("app!=qdrant", False), ("none!=qdrant", True), ("!app", False), ("!none", True),
        ("tier in (a, b)", True), ("tier in (b,c)", False), ("tier in (b,c),app", False),
        ("tier notin (b,c),app=qdrant", True), ("none notin (b)", True), ("none in (b)", False),
        ("example.com/part", True), ("example.com/part=", True), ("example.com/part in ()", True),
    ],
)  # fmt: skip
def test_what_is_selected(text, selects):
    """As `kubectl get -l` does."""
    assert parse_selector(text).matches(LABELS) is selects


@pytest.mark.parametrize(
    "text",
    [",", "a,", "a in b", "a in", "in (a)", "=b", "a=b=c", "a b", "a=(b)", "a>b", "-a", "a=-", "!a=b", "a/b/c", "a in (b"],
)  # fmt: skip
def test_what_is_none(text):
    with pytest.raises(ValueError, match="is not a term of a label selector"):
        parse_selector(text)
