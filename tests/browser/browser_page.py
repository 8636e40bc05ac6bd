"""The page as people meet it: in Chromium, live, without script, with 1,000 subjects."""

import io
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import expect

from reporter.cli import check
from reporter.daemon import listeners
from reporter.daemon.state import LostWatches
from reporter.model.reason import EventType
from reporter.model.report import Disposition, Mute, MuteFault, SkippedObject, UnknownResource
from reporter.model.subject import CLUSTER, ObjectRef, Subject
from tests.browser.opened import opened
from tests.daemon.stage import KAITO
from tests.unit.sinks.page.reports import (
    EPP,
    GATEWAY,
    INFRA,
    NAMESPACE,
    NOW,
    PODS,
    finding,
    large,
    later,
    model,
    report,
)
from tests.unit.sinks.page.reports import KAITO as KAITO_REASON

EXAMPLES = Path(__file__).parents[2] / "examples"
SERIOUS = {"serious", "critical"}
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"
"""Milliseconds from the request to the load event."""

LOOKS = 5


def mixed():
    """Every part of the page has something in it."""
    team = ObjectRef("v1", "Namespace", "", "team")
    mute = Mute(team, (EPP,), NOW + timedelta(days=1))
    return report(
        finding(KAITO_REASON, commands=("kubectl describe deployment kaito-workspace",)),
        finding(GATEWAY, NAMESPACE, stale=True),
        finding(INFRA, model("one"), Disposition.SUPPRESSED, by=(KAITO_REASON,)),
        finding(PODS, model("two")),
        finding(EPP, model("two"), Disposition.SECONDARY, by=(PODS,)),
        finding(PODS, model("three"), Disposition.PENDING),
        finding(EPP, model("four"), Disposition.CLEARING),
        finding(EPP, model("eight"), Disposition.MUTED, mutes=(mute,)),
        finding(GATEWAY, Subject.of_namespace("other"), type=EventType.NORMAL),
        ready_ones=[model("five"), model("six", "other")],
        subjects=(model("seven"),),
        unknown=(UnknownResource("workspaces.kaito.sh", "forbidden"),),
        skipped=(SkippedObject("pods", "team", "odd", "status.conditions is not a list"),),
        mutes=(mute,),
        mute_faults=(MuteFault(team, "Pods is no reason"),),
    )


async def test_a_fault_appears_and_clears_without_reload(stage, inside, browser):
    """The page of the real daemon follows the cluster; nothing is asked of any other place."""
    replica = await (await inside().start()).ready()
    await stage.all_ready()
    page = await opened(browser, f"http://127.0.0.1:{replica.ports['report']}/")
    await page.evaluate("window.loadedOnce = true")
    await expect(page.locator("h1")).to_have_text("Nothing fires")
    stage.scale_kaito(0)
    await expect(page.locator("h1")).to_have_text("1 cause fires", timeout=20_000)
    await expect(page.locator(".cause h3")).to_have_text(KAITO[0])
    await expect(page.locator("#said")).to_have_text("1 cause fires.")
    stage.scale_kaito(1)
    await expect(page.locator("h1")).to_have_text("Nothing fires", timeout=20_000)
    await expect(page.locator("#day")).to_contain_text(KAITO[0])
    assert await page.evaluate("window.loadedOnce")
    assert page.complaints == []
    assert {urlsplit(url).netloc for url in page.asked} == {urlsplit(page.url).netloc}


async def test_who_comes_before_the_first_pass_need_not_come_again(served, browser):
    """The page appears by itself."""
    server = await served()
    page = await opened(browser, server.url)
    await expect(page.locator("body")).to_have_text("No pass has ended yet.")
    server.page.passed(report(finding(KAITO_REASON)))
    await expect(page.locator("h1")).to_have_text("1 cause fires")


async def test_what_is_open_and_focused_stays_when_the_page_renews_itself(served, browser):
    """One reads an explanation while other things happen."""
    server = await served(report(finding(KAITO_REASON)))
    page = await opened(browser, server.url)
    summary = page.locator(".cause summary").first
    await summary.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator(".cause dl").first).to_be_visible()
    server.page.passed(later(5, finding(KAITO_REASON), finding(GATEWAY, NAMESPACE)))
    await expect(page.locator("h1")).to_have_text("2 causes fire")
    await expect(page.locator(".cause dl").first).to_be_visible()
    await expect(summary).to_be_focused()


async def test_a_cluster_that_is_out_of_reach_is_said_without_reload(served, browser):
    """The page is live, and what it shows is old all the same."""
    server = await served(report(ready_ones=[CLUSTER]))
    page = await opened(browser, server.url)
    await expect(page.locator("#live")).to_have_text("Live.")
    server.lost_watches = LostWatches(35.0)
    server.page.passed(later(60, ready_ones=[CLUSTER]))
    await expect(page.locator("#lost")).to_contain_text("2026-11-20T12:00:25Z")
    await expect(page.locator("body")).to_have_attribute("data-old", "")
    assert (await page.title()).startswith("OLD · Nothing fires")
    await expect(page.locator("#live")).to_have_text(
        "Live, but the reporter cannot reach the API server."
    )
    await expect(page.locator("#said")).to_have_text("Nothing fires, but not everything is known.")
    server.lost_watches = None
    server.page.passed(later(70, ready_ones=[CLUSTER]))
    await expect(page.locator("#rest")).to_contain_text("As of 2026-11-20T12:01:10Z")
    await expect(page.locator("#live")).to_have_text("Live.")
    assert await page.locator("body[data-old]").count() == 0
    assert (await page.title()).startswith("Nothing fires")
    assert page.complaints == []


async def test_the_focus_stays_when_what_stood_before_it_is_gone(served, browser):
    """A cause that clears above the one that is read, and then that one itself."""
    server = await served(report(finding(KAITO_REASON), finding(GATEWAY, NAMESPACE)))
    page = await opened(browser, server.url)
    summary = page.locator(".cause", has_text=GATEWAY).locator("summary").first
    await summary.focus()
    server.page.passed(later(5, finding(GATEWAY, NAMESPACE)))
    await expect(page.locator("h1")).to_have_text("1 cause fires")
    await expect(summary).to_be_focused()
    server.page.passed(later(10))
    await expect(page.locator("h1")).to_have_text("Nothing fires")
    await expect(page.locator("#causes")).to_be_focused()


HIDE = """hidden => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


async def test_many_tabs_do_not_starve_each_other(served, browser):
    """A browser has six connections to a server: a tab that nobody sees keeps none of them."""
    server = await served(report())
    page = await opened(browser, server.url)
    tabs = [page]
    for _ in range(7):
        await tabs[-1].evaluate(HIDE, True)
        tabs.append(await page.context.new_page())
        await tabs[-1].goto(server.url)
        await expect(tabs[-1].locator("#live")).to_contain_text("Live.")
    server.page.passed(later(5, finding(KAITO_REASON)))
    await expect(tabs[-1].locator("h1")).to_have_text("1 cause fires")
    await expect(page.locator("h1")).to_have_text("Nothing fires")
    await page.evaluate(HIDE, False)
    await expect(page.locator("h1")).to_have_text("1 cause fires")
    await expect(page.locator("#live")).to_contain_text("Live.")


async def test_a_lost_connection_is_not_taken_for_calm(served, browser, monkeypatch):
    """A connection that died without a word is said to be lost, and made again."""
    monkeypatch.setattr(listeners, "ALIVE_SECONDS", 3600.0)
    server = await served(report())
    page = await browser.new_page()
    await page.clock.install()
    await page.goto(server.url)
    await expect(page.locator("#live")).to_contain_text("Live.")
    streams = []
    page.on("request", lambda asked: streams.append(asked.url))
    await page.clock.run_for(12_000)
    assert streams == []
    await page.clock.run_for(5_000)
    await expect(page.locator("#live")).to_contain_text("Live.")
    assert f"{server.url}live" in streams


async def test_names_from_the_cluster_stay_text(served, browser):
    """An object named like an element makes none, live too."""
    name = "<script>window.bad=1</script><img src=x onerror=window.bad=1>"
    server = await served(report())
    page = await opened(browser, server.url)
    bad = finding(PODS, model(name, name), message=name, cause=name)
    server.page.passed(later(5, bad, unknown=(UnknownResource(name, name),)))
    await expect(page.locator(".cause .message")).to_have_text(name)
    assert await page.evaluate("window.bad") is None
    assert await page.locator("main script, main img").count() == 0
    assert page.complaints == []


async def test_a_thousand_subjects_can_be_used(served, browser):
    """From the request to a page that is laid out is said, the drawing included; one of them is found."""
    first = large(1000, 100)
    server = await served(first)
    page = await opened(browser, server.url)
    times = []
    for look in range(1, LOOKS + 1):
        server.page.passed(replace(first, now=first.now + timedelta(seconds=look)))
        await page.reload()
        times.append(await page.evaluate(LOADED))
    print(f"1,000 subjects: {', '.join(f'{each:.0f}' for each in times)} ms")  # noqa: T201 - said in the docs
    assert min(times) > 0
    await page.locator("#q").fill("team-39/model-0239")
    await expect(page.locator("#shown")).to_have_text("0 of 44 causes, 1 subject.")
    await expect(page.locator(".names li:visible")).to_have_text("model-0239 team-39")


async def test_a_thousand_faults_can_be_used(served, browser):
    """A renewal of the largest page keeps the browser responsive."""
    server = await served(large(1000, 1000))
    page = await opened(browser, server.url)
    server.page.passed(later(5))
    await expect(page.locator("h1")).to_have_text("Nothing fires", timeout=10_000)


@pytest.mark.parametrize("width", [390, 820, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_no_serious_fault(served, browser, width, *, scheme):
    """Contrast, names, roles and headings, with everything open."""
    server = await served(mixed())
    page = await opened(browser, server.url, width=width, color_scheme=scheme)
    await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    results = await Axe().run(page)
    found = [
        (each["id"], each["nodes"][0]["html"])
        for each in results.response["violations"]
        if each["impact"] in SERIOUS
    ]
    assert found == []


@pytest.mark.parametrize("width", [320, 390, 820, 1440, 3840])
async def test_nothing_is_wider_than_the_screen(served, browser, width):
    """Long names break."""
    long = model("a" * 63, "b" * 63)
    server = await served(report(finding(PODS, long, message="c" * 900), ready_ones=[long]))
    page = await opened(browser, server.url, width=width)
    await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert await page.evaluate("document.documentElement.scrollWidth") == width


async def test_the_page_works_without_script(served, browser):
    """It shows everything, opens what is closed, and the server narrows it."""
    server = await served(mixed())
    page = await opened(browser, server.url, java_script_enabled=False)
    await expect(page.locator("h1")).to_have_text("3 causes and 1 notice fire")
    await page.locator(".cause summary").first.click()
    await expect(page.locator(".cause code").first).to_be_visible()
    await page.locator("#q").fill("four")
    await page.locator("#search button").click()
    await expect(page.locator(".tile .name")).to_have_text(["four team"])
    await expect(page.locator("#live")).to_contain_text("loaded again every minute")
    await page.get_by_text("Show all").click()
    await expect(page.locator(".cause")).to_have_count(4)


async def test_keys_alone_lead_from_a_subject_to_its_finding(served, browser):
    """The first stop is the way past the header; a tile opens what it speaks of."""
    server = await served(mixed())
    page = await opened(browser, server.url)
    await page.keyboard.press("Tab")
    await expect(page.locator(".skip")).to_be_focused()
    row = page.locator(".below li", has_text=INFRA)
    await page.locator(f'.tile a[href="#{await row.get_attribute("id")}"]').first.focus()
    await page.keyboard.press("Enter")
    await expect(row).to_be_focused()
    await expect(row.locator("dl")).to_be_visible()


GREEN = (
    """() => [...document.querySelectorAll(".shape")].map(each => getComputedStyle(each).color)"""
)
TICKS = """() => [...document.querySelectorAll(".is-ready.shape")].map(
    each => getComputedStyle(each).getPropertyValue("--tick").trim())"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_daemon_that_is_gone_is_said_at_once_and_loudly(served, browser, scheme):
    """A banner, the title, no colour and no tick: then, and not before, and no longer than it lasts."""
    server = await served(report(finding(KAITO_REASON), ready_ones=[model("five")]))
    page = await opened(browser, server.url, color_scheme=scheme)
    await expect(page.locator("#live")).to_contain_text("Live.")
    await expect(page.locator("#alarm")).to_be_hidden()
    assert set(await page.evaluate(TICKS)) == {""}
    assert len(set(await page.evaluate(GREEN))) > 1
    await server.stop()
    await expect(page.locator("#alarm")).to_be_visible()
    await expect(page.locator("#alarm")).to_contain_text(
        "The reporter does not answer. What you see is from 2026-11-20 12:00:00 UTC"
    )
    assert (await page.title()).startswith("OLD, of 12:00 UTC · 1 cause fires")
    assert len(set(await page.evaluate(GREEN))) == 1
    assert set(await page.evaluate(TICKS)) == {"transparent"}
    await expect(page.locator("#live")).to_be_hidden()
    await server.start()
    await expect(page.locator("#alarm")).to_be_hidden(timeout=20_000)
    assert (await page.title()).startswith("1 cause fires")
    assert len(set(await page.evaluate(GREEN))) > 1


async def test_passes_that_have_stopped_are_said(served, browser):
    """The daemon answers, and what it answers gets older and older."""
    server = await served(report())
    server.page.overdue_seconds = 1.0
    page = await browser.new_page()
    await page.clock.install()
    await page.goto(server.url)
    await page.clock.run_for(3_000)
    await expect(page.locator("#alarm")).to_contain_text("does not look at the cluster any more")


async def test_a_copy_of_a_live_page_is_not_taken_for_one(served, browser, tmp_path):
    """Somebody saved it from the browser, with its files."""
    server = await served(report(ready_ones=[CLUSTER]))
    page = await opened(browser, server.url)
    file = tmp_path / "page.html"
    file.write_text(await page.content(), "utf-8")
    for name in ("page.css", "page.js"):
        answer = await page.request.get(f"{server.url}{name}")
        (tmp_path / name).write_text(await answer.text(), "utf-8")
    copy = await opened(browser, file.as_uri())
    await expect(copy.locator("#alarm")).to_contain_text("This is a copy of a page that was live.")
    assert set(await copy.evaluate(TICKS)) == {"transparent"}


async def test_local_time_stands_beside_utc(served, browser):
    """Whoever is woken looks at the clock on the wall."""
    server = await served(report(finding(KAITO_REASON)))
    page = await opened(browser, server.url, timezone_id="Asia/Kolkata")
    await expect(page.locator("#rest")).to_contain_text(
        "As of 2026-11-20T12:00:00Z (2026-11-20 17:30:00 local)."
    )
    await page.locator(".cause summary").first.click()
    await expect(page.locator(".cause dd").first).to_contain_text("11:55:00Z (2026-11-20 17:25:00")
    await expect(page.locator(".axis")).to_contain_text("17:30 local")
    plain = await opened(browser, server.url, timezone_id="UTC")
    await expect(plain.locator("#live")).to_contain_text("Live.")
    assert "local" not in await plain.locator("body").inner_text()


async def test_the_filter_stands_in_the_address(served, browser):
    """One sends the link to somebody, and goes on where one was after a reload."""
    server = await served(mixed())
    page = await opened(browser, server.url)
    await page.locator("#q").fill("other")
    await expect(page.locator("#shown")).to_have_text("0 of 3 causes, 2 subjects.")
    assert urlsplit(page.url).query == "q=other"
    await page.reload()
    await expect(page.locator("#q")).to_have_value("other")
    await expect(page.locator(".tile .name")).to_have_text(["other"])
    server.page.passed(later(5, finding(GATEWAY, Subject.of_namespace("other"))))
    await expect(page.locator("h1")).to_have_text("1 cause fires")
    await expect(page.locator(".cause h3")).to_have_text(GATEWAY)
    await page.locator("#q").fill("")
    await expect(page.locator("#shown")).to_have_text("")
    assert urlsplit(page.url).query == ""


async def test_a_cause_is_copied_as_text(served, browser):
    """For a ticket: the cause, whom it hits, since when, what to do, and of when it is."""
    server = await served(
        report(finding(KAITO_REASON, commands=("kubectl describe deployment kaito-workspace",)))
    )
    page = await opened(browser, server.url, permissions=["clipboard-read", "clipboard-write"])
    await expect(page.locator("#live")).to_contain_text("Live.")
    await page.locator(".cause summary").first.click()
    await page.get_by_role("button", name="Copy as text").click()
    await expect(page.locator("#said")).to_have_text("Copied.")
    text = await page.evaluate("navigator.clipboard.readText()")
    lines = text.splitlines()
    assert lines[:3] == ["Deployment kaito-workspace is down: 0/1 ready", KAITO_REASON, "cluster"]
    assert "Since: 2026-11-20T11:55:00Z" in text
    assert "$ kubectl describe deployment kaito-workspace" in lines
    assert lines[-1] == "as of 2026-11-20 12:00:00 UTC"


async def test_one_browser_too_many_is_not_told_that_it_sees_what_is_old(
    served, browser, monkeypatch
):
    """It has no stream, and asks for the page again and again."""
    monkeypatch.setattr(listeners, "MOST_STREAMS", 0)
    server = await served(report())
    page = await opened(browser, server.url)
    await expect(page.locator("#live")).to_contain_text("renews itself every 15 s")
    server.page.passed(report(finding(KAITO_REASON)))
    await expect(page.locator("h1")).to_have_text("1 cause fires", timeout=20_000)
    await expect(page.locator("#live")).to_contain_text("renews itself every 15 s")
    await server.stop()
    await expect(page.locator("#alarm")).to_contain_text("does not answer", timeout=30_000)


async def test_the_page_in_one_file_needs_nothing_else(browser, tmp_path):
    """It has its colours under its own policy, asks for nothing and has no script."""
    out = io.StringIO()
    with redirect_stdout(out):
        check.main(["--from", str(EXAMPLES / "broken-stack"), "-o", "html"])
    file = tmp_path / "page.html"
    file.write_text(out.getvalue(), "utf-8")
    page = await opened(browser, file.as_uri(), color_scheme="light")
    await expect(page.locator("h1")).to_have_text("5 causes fire")
    colour = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == "rgb(246, 246, 244)"
    assert page.asked == [file.as_uri()]
    assert page.complaints == []
