"""Times that a tenant writes, and numbers that a pod reports."""

import json
import re
import shutil
from datetime import UTC, datetime, timedelta

from msgspec import convert

from reporter.catalogue.resources import PODS
from reporter.diagnosis.containers import _ran_as_long
from reporter.diagnosis.fit import counts_of
from reporter.kube.clock import ClockOffset
from reporter.metrics.pages.reader import SeriesLabels
from reporter.metrics.pages.reading import counter
from reporter.metrics.scraping.targets import POD_INDEX, _index
from reporter.model.objects import DeploymentSpec, Pod
from reporter.model.objects.pods import Probe, Terminated
from reporter.model.report import SkippedObject
from reporter.model.stack import ScrapedPods
from reporter.model.subject import SubjectKind
from reporter.snapshot.decode import decode_object
from reporter.snapshot.dump import load_dump
from reporter.snapshot.table import table_of
from reporter.stacks import BUILT_IN
from reporter.workload.node import waited_for
from tests.attacks.attack import ROOT, Outcome, attack, attacks, broken, held, program

BEAT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def _node():
    beat = {"type": "Ready", "status": "True", "lastHeartbeatTime": BEAT.isoformat()}
    metadata = {"name": "n", "creationTimestamp": "2026-11-01T00:00:00Z"}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"conditions": [beat]},
    }  # fmt: skip


def _of_tenant(api_version, kind, **rest):
    metadata = {"name": "x", "namespace": "tenant", "creationTimestamp": "2026-11-01T00:00:00Z"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


TIMES = {
    "in a condition": lambda time: _of_tenant(
        "kaito.sh/v1alpha1", "InferenceSet", status={"conditions": [{"lastTransitionTime": time}]}
    ),
    "in a spec": lambda time: _of_tenant("apps/v1", "Deployment", spec={"startTime": time}),
    "in an Event": lambda time: _of_tenant("v1", "Event", lastTimestamp=time, eventTime=time),
    "in a Lease": lambda time: _of_tenant("coordination.k8s.io/v1", "Lease", spec={"renewTime": time}),
    "in a kind that nobody reads": lambda time: _of_tenant("evil.io/v1", "Node", status={"time": time}),
}  # fmt: skip
LATER = {"an hour": timedelta(hours=1), "a year": timedelta(days=365)}


@attacks(
    {
        f"a time {after} later {place}": (make, later)
        for place, make in TIMES.items()
        for after, later in LATER.items()
    }
)
def _(folder, row):
    make, later = row
    path = folder / "dump.json"
    path.write_text("\n".join(map(json.dumps, (make((BEAT + later).isoformat()), _node()))))
    newest = load_dump([path], BUILT_IN).newest
    moved = newest - BEAT
    return Outcome(held=abs(moved) <= timedelta(minutes=10), figure=f"the clock moves by {moved}")


@attack("two counters whose sum no float holds")
def _(folder):
    points = [(SeriesLabels({}, identity=each), 1.7e308) for each in (b"a", b"b")]
    found = counter(points, ())
    value = round(found.value) if found else "not believed"
    return Outcome(held=True, figure=f"{value}")


NUMBERS = (
    "1.7e308", "1.7976931348623157e308", "9" * 400, "1e19", "-1e300", "NaN", "+Inf", "-Inf",
    "5e-324",
)  # fmt: skip


@attacks({f"a counter of a pod that goes up to {each[:12]}": each for each in NUMBERS}, quick=False)
def _(folder, number):
    return _with_number(folder, number)


@attacks({"a counter of a pod that goes up to where floats end, in short": "1.7e308"})
def _(folder, number):
    return _with_number(folder, number)


_FAILURES = (
    'vllm:nixl_num_failed_transfers_total{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"}'
)


def _with_number(folder, number):
    dump = folder / "dump"
    shutil.copytree(ROOT / "examples" / "broken-stack", dump)
    pages = sorted(dump.rglob("*.prom"))
    for index, page in enumerate(pages):
        # Up and down, so that what it rose by is added up; the failures of transfers are told plainly.
        value = number if index % 2 else 0
        text = re.sub(r"(?m)^([^#]\S*preemptions_total\S*) \S+$", rf"\1 {value}", page.read_text())
        page.write_text(f"{text}{_FAILURES} {value}\n")
    ran = program("check", dump, seconds=30)
    return Outcome(
        held=ran.status in {0, 1, 2} and not ran.failed,
        figure=f"{len(pages)} pages, status {ran.status} {ran.err[:60]}",
    )


@attacks(
    {
        "a number of devices beyond all numbers": '"1e400"',
        "an endless number of devices": '"inf"',
        "numbers of devices that are too large together": "1.7e308",
        "a number of devices of five thousand digits": "9" * 5_000,
    }
)
def _(_folder, number):
    asks = f'{{"name": "m", "resources": {{"limits": {{"nvidia.com/gpu": {number}}}}}}}'
    spec = f'{{"containers": [{asks}, {asks}]}}'
    metadata = '{"name": "p", "namespace": "tenant"}'
    found = decode_object(PODS, f'{{"metadata": {metadata}, "spec": {spec}}}'.encode())
    counted = found.spec.devices if isinstance(found, Pod) else found.cause
    return Outcome(held=isinstance(found, Pod | SkippedObject), figure=f"{counted}"[:100])


@attacks(
    {
        "a Date of years beyond all numbers": f"Fri, 20 Nov {'9' * 30} 12:00:00 GMT",
        "a Date at the end of the calendar": "Fri, 31 Dec 9999 23:59:59 GMT",
        "a Date before the calendar": "Mon, 01 Jan 0001 00:00:00 +2359",
        "a Date without a zone, before the calendar": "Mon, 01 Jan 0001 00:00:00",
        "a Date of another world": "\x00, 99 Foo -1 -1:-1:-1 +99999999",
    }
)
def _(_folder, date):
    clock = ClockOffset()
    try:
        clock.note(date)
    except (ArithmeticError, OSError, TypeError, ValueError) as error:
        return broken(f"{type(error).__name__}: {error}")
    ahead = timedelta(seconds=clock.seconds())
    try:
        a_day_later = datetime.now(UTC) + ahead + timedelta(days=1)
    except OverflowError as error:
        return broken(str(error))
    return held(f"in a day it is {a_day_later:%Y-%m-%d}")


@attack("a probe that never gives up, of a container that was killed")
def _(_folder):
    never = Probe(period_seconds=2**31 - 1, failure_threshold=2**31 - 1)
    ended = Terminated(exit_code=137, started_at=BEAT, finished_at=BEAT + timedelta(hours=1))
    try:
        found = _ran_as_long(ended, never)
    except OverflowError as error:
        return broken(str(error))
    return held(f"the probe ended it: {found}")


_DIGITS = "9" * 5_000
"""More than Python makes a number of."""

_TEXTS = {
    "what the scheduler counts": (f"0/{_DIGITS} nodes are available: {_DIGITS} node(s) had untolerated taint(s).", counts_of),
    "taints of the scheduler": (f"{_DIGITS} node(s) had untolerated taint(s)", lambda text: waited_for(text, table_of(()))),
    "how many a rollout may take away": (
        f"{_DIGITS}%",
        lambda text: (
            convert(
                {"strategy": {"rollingUpdate": {"maxUnavailable": text}}}, DeploymentSpec
            ).may_lack
        ),
    ),
    "the place of a pod in its set": (
        _DIGITS,
        lambda text: _index(
            convert({"metadata": {"name": "p", "labels": {POD_INDEX: text}}}, Pod),
            ScrapedPods(kind=SubjectKind("a"), not_ready="", label="a"),
        ),
    ),
}  # fmt: skip


@attacks({f"{name}, of five thousand digits": row for name, row in _TEXTS.items()})
def _(_folder, row):
    text, read = row
    try:
        found = read(text)
    except ValueError as error:
        return broken(str(error)[:60])
    return held(f"read as {found}"[:80])
