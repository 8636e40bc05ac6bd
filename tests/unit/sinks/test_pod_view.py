"""What `status --pod` says of a pod: its newest look, and each reason with why it is or is not judged."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from reporter.catalogue.pickers import PICKER_NAMES
from reporter.catalogue.runtime import of_kind
from reporter.metrics.samples.sample import Endpoints, Failure, Picked
from reporter.metrics.samples.window import Judged
from reporter.sinks.pod_view import pod_text, pod_view
from reporter.stacks.kaito.reasons import INFERENCESET_KIND
from tests.tables import of_inferencesets as t
from tests.tables import rows
from tests.unit.probes.runtime.scraped import TARGET, Scraped, engine, loading, serving

FULL = {"kv_usage": 0.98, "waiting": 5, "capacity": 5}


def seen(page, until, **settings):
    """A pod that was scraped for so long, as view and as text."""
    pod = Scraped(**settings)
    pod.watch(page, until)
    judged = Judged(pod.history, pod.verdict)
    now = pod.history.newest.at.wall + timedelta(seconds=4)
    return pod_view(judged, pod.settings), pod_text(judged, now, pod.settings)


def verdicts(view):
    return {each["reason"]: (each["verdict"], each["detail"]) for each in view["reasons"]}


def test_serving_pod_with_a_fault():
    view, text = seen(lambda at: serving(at, **FULL), 300)
    assert (view["outcome"], view["inService"], view["scrapes"]) == ("ok", True, 21)
    assert view["spanSeconds"] == 300
    assert view["values"]["engine 0 kv_usage"] == 0.98
    told, detail = verdicts(view)[t.KV_CACHE]
    assert told == "fault"
    assert detail.startswith("engine 0 KV cache at 95% or more for 5 min")
    assert verdicts(view)[t.PREEMPTION] == ("clear", "")
    first, service, *_ = text.splitlines()
    assert first == "Pod demo/p-0: scraped 4s ago, ok; 21 scrapes over 300 s"
    assert service == "In service: its numbers are judged."
    assert re.search(rf"^  {t.KV_CACHE} +fault +engine 0 KV cache", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "says"), [({"failure": Failure.TIMEOUT}, "cannot be read"), ({}, "has no engine")]
)
def test_pod_whose_numbers_are_not_there(page, says):
    """Nothing is judged that was not read, and the view does not say so."""
    _, text = seen(lambda _: page, 30)
    assert says in text.splitlines()[1]


@rows(
    ("page", "until", "reason", "why"),
    {
        "part of a window": (lambda at: serving(at, **FULL), 60, t.KV_CACHE, "not full yet"),
        "part of a download's": (lambda _: loading(5e6, 900), 30, t.DOWNLOAD_SLOW, "not full yet"),
        "not Ready": (lambda _: loading(5e6, 900), 30, t.KV_CACHE, "Ready"),
        "no page": (lambda _: {"failure": Failure.REFUSED}, 30, t.KV_CACHE, "cannot be read"),
        "not told": (lambda at: serving(at, healthy=None), 60, t.ENGINE_UNHEALTHY, "does not have"),
    },
)
def test_why_a_reason_is_not_judged(page, until, reason, *, why):
    view, text = seen(page, until)
    told, detail = verdicts(view)[reason]
    assert told == "not judged"
    assert why in detail
    assert detail in text


def test_reasons_that_are_switched_off_say_so():
    view, _ = seen(serving, 300, disable_reasons="runtime")
    found = {reason: told for reason, (told, _) in verdicts(view).items()}
    assert found.pop(t.DOWNLOAD_SLOW) == found.pop(t.DOWNLOAD_STALLED) == "clear"
    assert set(found.values()) == {"off"}


def test_a_page_cannot_write_to_the_terminal():
    _, text = seen(lambda at: serving(at, engines={"\x1b[2J\n0": engine(at)}), 60)
    assert "\x1b" not in text
    assert re.search(r"^  engine 0 running +2$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ({"endpoints": Endpoints(0.0)}, ("fault", "has not known the Ready pod")),
        ({"failure": Failure.STATUS, "detail": "401"}, ("not judged", "its page wants a token, and the reporter sends none")),
    ],
)  # fmt: skip
def test_an_endpoint_picker(page, told):
    """Only the reasons of pickers, and why they cannot be judged where their page is closed."""
    picker = replace(TARGET, picked=Picked((TARGET.ready_since,)))
    view, text = seen(lambda _: {"target": picker} | page, 60)
    assert [*verdicts(view)] == [of_kind(each, INFERENCESET_KIND) for each in PICKER_NAMES]
    verdict, detail = verdicts(view)["inferencesetEPPNoEndpoints"]
    assert (verdict, detail[: len(told[1])]) == told
    assert text.splitlines()[1] == "An endpoint picker, with 1 Ready pod to pick."
    assert view["values"].get("ready_endpoints") == (0.0 if "endpoints" in page else None)
