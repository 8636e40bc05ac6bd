"""`check -o html`."""

import re


def test_the_page_is_one_file_that_tells_what_the_text_tells(run, examples):
    """The same causes in the same order, the same exit status."""
    broken = examples / "broken-stack"
    status, html, err = run("check", "--from", broken, "-o", "html")
    assert (status, err) == (1, "")
    _, text, _ = run("check", "--from", broken)
    assert html.startswith("<!doctype html>")
    assert html.endswith("</html>\n")
    heads = re.findall(r"<h3><svg.*?</svg><span>(.*?)</span></h3>", html)
    causes = re.findall(r"^([a-z]\w+)  \S+  for ", text, re.MULTILINE)
    assert [each.replace("<wbr>", "") for each in heads] == causes
    assert len(causes) == 5
    assert "<script" not in html
    assert "the newest time in the dump" in html
    assert "kubectl -n kaito-system describe deployment.apps kaito-workspace" in html


def test_a_healthy_stack_has_a_page_too(run, healthy):
    """Nothing fires, and what is ready is counted."""
    status, html, _ = run("check", "--from", healthy, "-o", "html")
    assert status == 0
    assert "<span>Nothing fires</span></h1>" in html
    assert "<b>5</b> ready" in html
