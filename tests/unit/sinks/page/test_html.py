"""The page as HTML: escaped, from nowhere else, bounded, well-formed."""

import re
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser

import pytest
from msgspec import structs

from reporter.model.report import (
    Disposition,
    Impact,
    Mute,
    MuteFault,
    SkippedObject,
    UnknownResource,
)
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from reporter.sinks.history import EpisodeHistory
from reporter.sinks.page.build import page_view
from reporter.sinks.page.document import LIMITS, POLICY, TYPES, asset, page_html
from reporter.sinks.page.view import ALL, Lost, ReportOrigin, filtered
from tests.unit.sinks.page.reports import EPP, KAITO, NOW, PODS, finding, large, model, report

VOID = {"link", "meta", "input", "wbr", "br"}
MOST_BYTES = 2_000_000
MOST_SERVED_BYTES = 450_000


class Tree(HTMLParser):
    """Elements and attributes of a page; it fails where they are not nested."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.text, self._open = [], [], "", []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *each) for each in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *each) for each in attrs]

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] not in {"style", "script"}:
            self.text += data

    def ids(self):
        return [value for _, name, value in self.attributes if name == "id"]


def page(*findings, live=True, query="", **changes):
    found = report(*findings, **changes)
    about = ReportOrigin(version="1.2.3", leading=True, live=live)
    shown = filtered(page_view(found, about, EpisodeHistory.of(found)), query)
    return page_html(shown, version="v-1")


def muted(name):
    return Mute(ObjectRef("v1", "Namespace", "", name), (PODS,))


def hostile(text):
    subject = model(text, text)
    return {
        "findings": (
            finding(KAITO, message=text, cause=text),
            finding(PODS, subject, message=text, cause=text),
            finding(PODS, model("b"), Disposition.SUPPRESSED, by=(text,), cause=text),
            finding(PODS, model("c"), Disposition.MUTED, mutes=(muted(text),)),
        ),
        "ready_ones": [model(text, "c")],
        "unknown": (UnknownResource(text, text),),
        "mute_faults": (MuteFault(ObjectRef("v1", "Namespace", "", text), text),),
        "skipped": (SkippedObject(text, text, text, text),),
    }


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "' onmouseover='alert(1)",
        "</style><script>",
        "&lt;b&gt;",
        "javascript:alert(1)",
        "]]><!--",
    ],
)
def test_what_the_cluster_says_is_text_wherever_it_stands(text):
    """The same elements and attributes as with plain words, and the text is there as it is."""
    for live in (True, False):
        drawn, usual = drawn_with(text, live=live), drawn_with("plain", live=live)
        names = [each[:2] for each in drawn.attributes]
        # A command is given only for proper names.
        assert set(names) <= {each[:2] for each in usual.attributes}
        assert set(drawn.tags) <= set(usual.tags)
        assert drawn.tags.count("script") == (1 if live else 0)
        assert text in drawn.text


def drawn_with(text, *, live):
    """The page on which a text stands wherever it can."""
    parts = hostile(text)
    return Tree(page(*parts.pop("findings"), live=live, query=text, **parts))


@pytest.mark.parametrize("live", [True, False])
def test_nothing_is_loaded_from_elsewhere(live):
    """No address outside of the page, no inline script or style attribute or handler."""
    html = page(finding(KAITO), live=live)
    tree = Tree(html)
    places = {
        value for _, name, value in tree.attributes if name in {"src", "href", "action", "srcset"}
    }
    outside = {each for each in places if not each.startswith("#")}
    assert outside == ({"page.css", "page.js", "icon.svg"} if live else set())
    assert re.findall(r"https?://|//[a-z]|url\(|@import", html) == []
    assert not [name for _, name, _ in tree.attributes if name == "style" or name.startswith("on")]
    assert ("style" in tree.tags) is not live


@pytest.mark.parametrize("leading", [True, False, None])
def test_a_replica_says_only_of_itself_who_writes(leading):
    """Who does not lead cannot know whether another one does: the API server may be away."""
    found = report()
    text = Tree(
        page_html(page_view(found, ReportOrigin(leading=leading), EpisodeHistory.of(found)))
    ).text
    assert ("This replica leads and writes Events." in text) is (leading is True)
    assert ("This replica does not lead: it writes no Events." in text) is (leading is False)


@pytest.mark.parametrize("name", TYPES)
def test_the_files_name_no_other_place(name):
    """Neither the style sheet nor the script loads anything from elsewhere."""
    text = asset(name).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert re.findall(r"https?:|//[a-z]+\.|url\(|@import|innerHTML|eval\(", text) == []


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere():
    """Whoever got markup into the page could still run nothing."""
    assert POLICY.startswith("default-src 'none'; ")
    assert "unsafe" not in POLICY
    assert "*" not in POLICY
    assert "frame-ancestors 'none'" in POLICY
    assert "base-uri 'none'" in POLICY


def test_ids_are_unique_and_every_link_within_the_page_leads_somewhere():
    found = large(200, 150)
    tree = Tree(page_html(page_view(found, ReportOrigin(), EpisodeHistory.of(found))))
    ids = tree.ids()
    assert len(ids) == len(set(ids))
    targets = {
        value[1:] for _, name, value in tree.attributes if name == "href" and value[0] == "#"
    }
    assert targets <= {*ids, *symbols()}
    assert f"reason-{KAITO}" in targets


def symbols():
    return re.findall(r'<symbol id="([^"]+)"', page())


def test_every_state_has_a_shape():
    assert set(symbols()) == {f"s-{mark.name}" for mark in ALL}
    assert len({mark.word for mark in ALL}) == len(ALL)


@pytest.mark.parametrize("faulty", [30, 1000])
def test_a_thousand_subjects_stay_small(faulty):
    """The page of a large cluster is no burden, whatever is wrong with it."""
    found = large(1000, faulty)
    html = page_html(page_view(found, ReportOrigin(), EpisodeHistory.of(found)))
    assert len(html.encode()) < (MOST_BYTES if faulty == 1000 else MOST_BYTES / 10)
    text = Tree(html).text
    assert all(f"model-{number:04}" in text for number in range(997))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "No cause fires."),
        ({"unknown": (UnknownResource("pods", "forbidden"),)}, "neither healthy nor at fault"),
        ({"skipped": (SkippedObject("pods", "n", "a", "odd"),)}, "were left out"),
        ({"query": "x"}, "No cause fires that names “x”."),
    ],
)
def test_what_is_said_where_nothing_fires(changes, said):
    assert said in Tree(page(**changes)).text


@pytest.mark.parametrize(
    ("part", "entry"),
    [
        ("mutes", lambda ref: Mute(ref, (PODS,))),
        ("mute_faults", lambda ref: MuteFault(ref, "no reason")),
        ("skipped", lambda ref: SkippedObject("pods", ref.namespace, ref.name, "odd")),
    ],
)
@pytest.mark.parametrize(
    ("more", "rest"), [(0, None), (1, "And 1 more;"), (2950, "And 2950 more;")]
)
def test_long_lists_end_with_how_many_more_there_are(part, entry, more, *, rest):
    """Thousands of pods that carry a mute, or are malformed, do not bury the page."""
    refs = [
        ObjectRef("v1", "Pod", "team", f"p-{number:04}")
        for number in range(LIMITS["listed"] + more)
    ]
    text = Tree(page(**{part: tuple(map(entry, refs))})).text
    assert sum(ref.name in text for ref in refs) == LIMITS["listed"]
    assert rest is None or rest in text
    assert (rest is None) == (" more;" not in text)


@pytest.mark.parametrize("fires", [True, False])
def test_a_lost_connection_is_said_first_with_how_old_the_rest_is(fires):
    """Not the time of the report, which goes on while nothing new is read."""
    found = report(*([finding(KAITO)] if fires else []))
    about = ReportOrigin(live=True, lost=Lost(NOW - timedelta(seconds=35)))
    text = Tree(page_html(page_view(found, about, EpisodeHistory.of(found)))).text
    said = (
        "out of reach: what has changed since 2026-11-20T11:59:25Z (35s ago) may be missing here."
    )
    assert said in text
    assert text.index(said) < text.index("What is wrong")
    assert "As of" not in text


@pytest.mark.parametrize(
    ("resources", "named"),
    [(("pods",), "pods:"), (("a", "b", "c"), "a, b, c:"), (tuple("abcde"), "a, b, c, 2 more:")],
)
def test_where_some_kinds_are_lost_they_are_named(resources, named):
    """A webhook that is down is no API server that is away."""
    found = report()
    about = ReportOrigin(live=True, lost=Lost(NOW - timedelta(seconds=35), resources))
    text = Tree(page_html(page_view(found, about, EpisodeHistory.of(found)))).text
    assert f"The connection is lost for {named} what has changed of them since" in text
    assert "As of 2026-11-20T12:00:00Z." in text


@pytest.mark.parametrize(
    ("about", "old"),
    [
        (ReportOrigin(live=True), False),
        (ReportOrigin(live=True, lost=Lost(NOW, ("pods",))), False),
        (ReportOrigin(live=True, lost=Lost(NOW)), True),
        (ReportOrigin(live=True, overdue=True), True),
    ],
)
def test_an_old_page_has_no_colour_and_no_tick(about, old):
    """Its title says so too; where only some kinds are lost, their findings go stale by themselves."""
    found = report(ready_ones=[CLUSTER])
    html = page_html(page_view(found, about, EpisodeHistory.of(found)), version="v-1")
    assert (" data-old>" in html) is old
    assert ("<title>OLD · " in html) is old
    css = asset("page.css")
    assert "[data-old] { --tick: transparent; --asked: currentColor; --fault: var(--quiet);" in css
    assert 'stroke="var(--tick, currentColor)"' in html


def test_a_browser_without_script_loads_a_served_page_again():
    again = '<noscript><meta http-equiv="refresh" content="60"></noscript>'
    assert again in page()
    assert "refresh" not in page(live=False)


def test_a_cause_is_one_line_with_everything_else_below_it():
    """The sentence, whom it hits by name, since when, what changed, how much it explains."""
    hit = Impact(2, 1, 2, hit=(model("b"), model("c"), model("d", "other")))
    behind = finding(PODS, model("a"), Disposition.SUPPRESSED, by=(KAITO,))
    html = page(finding(KAITO, impact=hit, message="Deployment is down"), behind)
    line = Tree(html.partition("<summary>")[2].partition("</summary>")[0]).text
    assert line.startswith("Deployment is down")
    for said in (
        KAITO,
        "2 models do not serve, 1 serves degraded, in 2 namespaces",
        f"Hits {model('b')}, {model('c')}, {model('d', 'other')}",
        "firing for 5m",
        "explains 1 other",
    ):
        assert said in line


def test_a_page_that_knows_nothing_says_why_at_the_top():
    unknown = (UnknownResource("pods", "forbidden"),)
    said = "No model can be seen, as this cannot be read: forbidden: pods."
    html = page(unknown=unknown)
    assert html.index(said) < html.index('id="causes"')
    assert said not in page(finding(KAITO), unknown=unknown)


def test_what_changed_is_on_the_line_and_in_full_below():
    """As the report says it."""
    found = report(finding(KAITO))
    view = page_view(found, ReportOrigin(), EpisodeHistory.of(found))
    changes = ("spec.replicas 1 to 0 by kubectl-scale at 11:57:20", "image a to b")
    crashed = structs.replace(view.causes[0].finding, last_lines=("Traceback", "killed <9>"))
    cause = replace(view.causes[0], finding=crashed, changes=changes)
    html = page_html(replace(view, causes=(cause,)))
    line, _, rest = html.partition("<summary>")[2].partition("</summary>")
    assert changes[0] in line
    assert changes[1] not in line
    assert changes[1] in rest
    assert "Traceback\nkilled &lt;9&gt;" in rest


@pytest.mark.parametrize(
    ("live", "whole", "cut"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_a_served_page_is_bounded(live, whole, *, cut):
    """A thousand faults: the first hundred, how many more, and the way to them; a file has all."""
    found = large(1000, 1000)
    about = ReportOrigin(live=live)
    html = page_html(page_view(found, about, EpisodeHistory.of(found)), version="v", whole=whole)
    assert (len(html.encode()) < MOST_SERVED_BYTES) is cut
    assert ('href="?all=1"' in html) is cut
    assert ("model-0996" in html) is not cut


def test_the_filter_applies_to_every_part():
    """Nothing of another namespace is left but the verdict and the counts."""
    mute = [muted(name) for name in ("this", "that")]
    html = page(
        finding(KAITO),
        *(finding(PODS, model("m", name)) for name in ("this", "that")),
        *(finding(EPP, model("n", name), Disposition.PENDING) for name in ("this", "that")),
        query="this",
        ready_ones=[Subject.of_namespace("that"), model("well", "that")],
        mutes=tuple(mute),
        mute_faults=tuple(MuteFault(each.object, "wrong") for each in mute),
        skipped=tuple(SkippedObject("pods", name, "p", "odd") for name in ("this", "that")),
        unknown=(UnknownResource("that.kind", "forbidden"),),
    )
    main = Tree(html.partition("<main")[2].partition("</main>")[0].partition(">")[2]).text
    assert "this" in main
    assert not re.search(r"\bthat[/.]|\bthat$|Namespace that|\bthat\d", main)
    assert "1 of 3 causes, 2 subjects." in html
    assert ">3 causes fire<" in html
