"""What must be on the page at each step of a story of the demo, and who looks whether it is."""

import re
from html.parser import HTMLParser

import aiohttp

from reporter.stacks import BUILT_IN

HTML = {"Accept": "text/html"}


class Account:
    """The faults that a story has told and not taken back, and who became ready in this step."""

    def __init__(self):
        self.firing = {}
        self.ready = set()

    def take(self, step):
        """Note what a step brings: an Event that says Ready ends what Ready waits for."""
        self.ready = set()
        for each in step.over:
            self.firing.pop((each.reason, each.subject))
        for each in step.expected:
            if BUILT_IN[each.reason].says_ready:
                self.ready.add(each.subject)
                self.firing = {
                    key: text
                    for key, text in self.firing.items()
                    if key[1] != each.subject or not BUILT_IN[key[0]].blocks_ready
                }
            else:
                self.firing[each.reason, each.subject] = each.text

    @property
    def reasons(self):
        """Return the reasons of what fires, in the order of the catalogue."""
        return sorted((reason for reason, _ in self.firing), key=BUILT_IN.rank)


class Cards(HTMLParser):
    """The text of each cause on a page."""

    def __init__(self, html):
        super().__init__()
        self.cards, self.headings, self._depth, self._heading = [], [], 0, False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "li" and "cause" in (dict(attrs).get("class") or "").split():
            self.cards.append("")
            self._depth = 1
        elif tag == "li" and self._depth:
            self._depth += 1
        self._heading = tag == "h1" or (self._heading and tag in {"span", "svg", "use"})

    def handle_endtag(self, tag):
        if tag == "li" and self._depth:
            self._depth -= 1

    def handle_data(self, data):
        if self._depth:
            self.cards[-1] += data
        if self._heading:
            self.headings.append(data)


class Onlooker:
    """Asks for the report and the page after each step, as curl and a browser without script do."""

    def __init__(self):
        self.url = ""
        self.account = Account()
        self.steps = 0

    async def came(self, page):
        self.url = page

    async def saw(self, step):
        self.account.take(step)
        self.steps += 1
        async with aiohttp.ClientSession(raise_for_status=True) as session:
            async with session.get(f"{self.url}api/v1/report") as answer:
                self.report(await answer.json())
            async with session.get(self.url, headers=HTML) as answer:
                self.page(Cards(await answer.text()))

    def report(self, report):
        firing = {
            (each["reason"], each["subject"]): each["message"]
            for each in report["findings"]
            if each["disposition"] == "firing"
        }
        assert firing.keys() == self.account.firing.keys()
        for key, text in self.account.firing.items():
            assert text in firing[key]
        assert self.account.ready <= {each["subject"] for each in report["ready"]}

    def page(self, page):
        assert len(page.cards) == len(self.account.firing)
        for (reason, subject), text in self.account.firing.items():
            # A change has a place of its own there, and what is suppressed is listed below.
            own = text.partition("(suppressing ")[0]
            told = (reason, subject, *re.split(r" ?\(", own))
            assert [card for card in page.cards if all(each in card for each in told)]
        if not self.account.firing:
            (heading,) = page.headings
            assert heading.startswith("Nothing fires")
