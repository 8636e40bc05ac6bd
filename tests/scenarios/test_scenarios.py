"""Runs every scenario of this folder; README.md says how one is written."""

from datetime import UTC, datetime, timedelta

import pytest

from reporter.evaluation import evaluate_again
from reporter.model.instant import Instant
from reporter.probes.reuse import Answered
from reporter.resolution import Memory, resolve
from reporter.resolution.grace import hand_on, take_over
from reporter.resolution.records import records_of
from reporter.sinks.events.plan import plan_events
from reporter.sinks.words import action_of
from reporter.stacks.settings import FullEvaluationSettings
from tests.scenarios.world import COMPONENTS, SCENARIOS, World, span

START = Instant(datetime(2026, 11, 20, 12, tzinfo=UTC), timedelta(days=40))
RESYNC = timedelta(seconds=60)
_MANY_PASSES = timedelta(minutes=40)
"""A scenario that lasts longer takes a second or more: thirty of them half the time of all."""

_STEP = {
    "at", "change", "unknown", "unconfirmed", "absent", "discovery", "wall", "restart", "leader",
    "findings", "says", "ready", "events", "creations", "stale", "primary", "since", "fires",
    "muted_on", "mute_faults", "components", "dies", "rewrites", "event", "states", "state_since",
    "impact", "causes", "led_by", "by", "state_cause", "changes", "to_do",
}  # fmt: skip
_CASE = {"id", "why", "base", "settings", "components", "replicas", "steps"}


def _cases():
    for file, cases in SCENARIOS.items():
        for case in cases:
            lasts = max(span(each.get("at", "0s")) for each in case["steps"])
            marks = [pytest.mark.long] if lasts > _MANY_PASSES else []
            yield pytest.param(case, id=f"{file}/{case['id']}", marks=marks)


class Replica:
    """One process: what it remembers and what it saw last."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.answered = Answered()
        self.report = None
        self.wake_in = None
        self.handed = {}


class Run:
    """One scenario from its start: passes when the cluster changes, on timers, and each resync."""

    def __init__(self, case, start=START, age=timedelta(days=7)) -> None:
        self.others = case.get("settings", {})
        self.settings = self._settings(case.get("components", []))
        self.now = start
        base = case.get("base", "healthy")
        self.world = World(base, self.now, self.settings.catalogue, age=age)
        self.replicas = [Replica() for _ in range(case.get("replicas", 1))]
        self.leader = 0

    def _settings(self, components) -> FullEvaluationSettings:
        named = [COMPONENTS[each] if isinstance(each, str) else each for each in components]
        return FullEvaluationSettings(custom_components=named, **self.others)

    def go_to(self, offset: timedelta) -> None:
        """Let time pass until `offset` after the start, with the passes that fall due."""
        while (rest := START.boot + offset - self.now.boot) > timedelta(0):
            wakes = [each.wake_in for each in self.replicas if each.wake_in is not None]
            self.now = self.now.after(min([rest, RESYNC, *wakes]).total_seconds())
            self.look()

    def take(self, step) -> None:
        """Do what a step says, and look."""
        if "wall" in step:
            self.now = Instant(self.now.wall + span(step["wall"]), self.now.boot)
        if "components" in step:
            self.settings = self._settings(step["components"])
            self.world.declare(self.settings.catalogue)
        if step.get("restart") or "components" in step:
            self.replicas = [Replica() for _ in self.replicas]
        if step.get("dies"):
            text = hand_on(self.replicas[self.leader].memory)
            self.replicas[self.leader] = Replica()
            self.leader = step.get("leader", self.leader)
            self.replicas[self.leader].handed = take_over(text, self.now.wall, self.now.wall)
        self.leader = step.get("leader", self.leader)
        self.world.change(step.get("change", {}), self.now)
        self.world.mark(step)
        self.look()

    def look(self) -> None:
        """One pass of every replica; the leader's is written."""
        snapshot = self.world.snapshot(self.now)
        for replica in self.replicas:
            evaluation, replica.answered = evaluate_again(snapshot, self.settings, replica.answered)
            resolution = resolve(
                evaluation,
                snapshot,
                replica.memory,
                now=self.now,
                settings=self.settings,
                handed=replica.handed,
            )
            replica.handed = {}
            replica.memory, replica.report = resolution.memory, resolution.report
            replica.wake_in = resolution.wake_in
        if 0 <= self.leader < len(self.replicas):
            report = self.replicas[self.leader].report
            records = records_of(snapshot)
            self.world.write(plan_events(report, records, self.settings, instance="test"), self.now)

    @property
    def report(self):
        """What the leader sees, or the first replica where none leads."""
        return self.replicas[max(self.leader, 0)].report


def line_of(key) -> str:
    """`reason subject`, and the CRD where the reason is about one."""
    crd = f" {key.involved.name}" if key.involved.kind == "CustomResourceDefinition" else ""
    return f"{key.reason} {key.subject}{crd}"


def _spelled(name: str, lines) -> str:
    """Return the full name of what a scenario calls by its reason alone."""
    if name in lines:
        return name
    fits = [line for line in lines if line.startswith(f"{name} ")]
    return fits[0] if len(fits) == 1 else name


def _said(message: str | None, wanted: str) -> str | None:
    """Return `wanted` where the message holds it, else the message."""
    return wanted if message is not None and wanted in message else message


def _seconds(moment: datetime | None) -> int | None:
    return None if moment is None else int((moment - START.wall).total_seconds())


def _impact(impact) -> list[int] | None:
    """Return how many do not serve, serve degraded, and in how many namespaces."""
    return impact and [impact.not_serving, impact.degraded, impact.namespaces]


def _found(run: Run, step) -> dict[str, object]:
    """Return what a step may expect, as it was found."""
    findings = {line_of(each.key): each for each in run.report.findings}

    def of(name: str, attribute: str):
        return getattr(findings.get(_spelled(name, findings)), attribute, None)

    def seconds(name: str, attribute: str):
        return _seconds(of(name, attribute))

    return {
        "findings": {line: str(each.disposition) for line, each in findings.items()},
        "says": {
            name: _said(of(name, "message"), wanted)
            for name, wanted in step.get("says", {}).items()
        },
        "to_do": {
            name: action_of(findings[_spelled(name, findings)], run.settings.catalogue)
            for name in step.get("to_do", {})
        },
        "stale": sorted(line for line, each in findings.items() if each.stale),
        "primary": sorted(line for line, each in findings.items() if each.primary),
        "muted_on": {
            name: [str(mute.object) for mute in of(name, "mutes") or ()]
            for name in step.get("muted_on", {})
        },
        "mute_faults": [f"{each.object}: {each.text}" for each in run.report.mute_faults],
        "states": {str(each.subject): str(each.state) for each in run.report.states},
        "state_since": {
            str(each.subject): _seconds(each.since)
            for each in run.report.states
            if str(each.subject) in step.get("state_since", {})
        },
        "state_cause": {str(each.subject): each.cause for each in run.report.states if each.cause},
        "impact": {name: _impact(of(name, "impact")) for name in step.get("impact", {})},
        "changes": {
            name: [each.seen_from(of(name, "related")) for each in of(name, "changes") or ()]
            for name in step.get("changes", {})
        },
        "causes": [line_of(each.key) for each in run.report.findings if each.impact is not None],
        "by": {name: list(of(name, "by") or ()) for name in step.get("by", {})},
        "led_by": run.world.primary(),
        "ready": sorted(str(each.subject) for each in run.report.ready),
        "events": run.world.told(),
        "creations": {name: run.world.creations.count(name) for name in step.get("creations", {})},
        "rewrites": {name: run.world.rewrites.count(name) for name in step.get("rewrites", {})},
        "event": {
            name: _said(run.world.message(name), wanted)
            for name, wanted in step.get("event", {}).items()
        },
        "since": {name: seconds(name, "since") for name in step.get("since", {})},
        "fires": {name: seconds(name, "fires_at") for name in step.get("fires", {})},
    }


def _wanted(run: Run, step, name: str):
    """Return what a step expects, spelled out."""
    wanted = step[name]
    lines = [line_of(each.key) for each in run.report.findings]
    match name:
        case "findings":
            return {_spelled(key, lines): value for key, value in wanted.items()}
        case "stale" | "primary":
            return sorted(_spelled(key, lines) for key in wanted)
        case "ready" | "events" | "led_by":
            return sorted(wanted)
        case "causes":
            return [_spelled(key, lines) for key in wanted]
        case "since" | "fires" | "state_since":
            return {
                key: None if value is None else int(span(value).total_seconds())
                for key, value in wanted.items()
            }
        case _:
            return wanted


@pytest.mark.parametrize("case", list(_cases()))
def test_scenario(case):
    """What the scenario expects at each step is what the reporter says and writes."""
    assert case.keys() <= _CASE, f"unknown: {sorted(case.keys() - _CASE)}"
    run = Run(case)
    for step in case["steps"]:
        assert step.keys() <= _STEP, f"unknown: {sorted(step.keys() - _STEP)}"
        run.go_to(span(step.get("at", "0s")))
        run.take(step)
        found = _found(run, step)
        for name in sorted(found.keys() & step.keys()):
            wanted = _wanted(run, step, name)
            if found[name] != wanted:
                pytest.fail(_difference(case, step, name, wanted, found[name], run), pytrace=False)


def _difference(case, step, name, wanted, found, run: Run) -> str:
    def lines(value):
        if isinstance(value, dict):
            return [f"{key}: {each}" for key, each in value.items()]
        return list(value)

    left, right = lines(wanted), lines(found)
    for each in list(left):
        if each in right:
            left.remove(each)
            right.remove(each)
    parts = [f"{case['id']} at {step.get('at', '0s')}: {name} differ ({case.get('why', '')})"]
    parts += [f"  - expected {each}" for each in left]
    parts += [f"  + found    {each}" for each in right]
    parts.append("  the report:")
    parts += [
        f"    {each.disposition!s:10} {line_of(each.key)}: {each.message}"
        for each in run.report.findings
    ]
    parts.append(f"  ready: {', '.join(str(each.subject) for each in run.report.ready)}")
    parts += [f"  skipped: {each}" for each in run.report.skipped]
    return "\n".join(parts)
