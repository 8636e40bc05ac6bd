"""What `check` says of each incident, and whether that is the cause that the thread found.

The product is tested, not a part of it: the dump and the logs are written to a folder, and read from there.
"""

import contextlib
import io
import json
import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from reporter.cli.check import main as check
from tests.incidents.cluster import NOON
from tests.incidents.models import build

FOLDER = Path(__file__).parent
FLAGS = FOLDER / "named.yaml"
PLAIN = ("Deployment", "StatefulSet")

_TRUE_OF = {
    "Deployment": ("workload",),
    "DynamoGraphDeployment": ("dynamographdeploymentPodsNot", "dynamographdeploymentModelLoadFailed"),
    "InferenceService": ("inferenceservicePodsNot", "inferenceserviceModelLoadFailed", "inferenceserviceStorageFailed", "inferenceserviceRolloutStuck", "inferenceserviceNotReady"),
    "InferenceSet": ("inferencesetModelPodsNotReady",),
    "LLMInferenceService": ("llminferenceservicePodsNotReady", "llminferenceserviceNotReady"),
    "ModelServing": ("modelservingGroupNotReady", "modelservingRoleStuckCreating", "modelservingGangNotSchedulable"),
    "OMEInferenceService": ("omeinferenceservicePodsNot",),
    "RayService": ("rayservicePodsNot", "rayserviceModelLoadFailed"),
    "StatefulSet": ("workload",),
    "StormService": ("stormservicePodsNot",),
    "VLLMRuntime": ("vllmruntimePodsNot",),
}  # fmt: skip
"""Reasons, or how they begin, that are true of each model whose pods are at fault."""


_OTHERS = re.compile(r" \((also|suppressing downstream reasons): .*\)$", re.DOTALL)
"""What a message says of what the cause explains: it is no part of the cause."""


@dataclass(frozen=True)
class Told:
    """What is told of an incident: `named`, `symptom`, `nothing` or `untrue`, and the causes in words.

    A cause is its reason, its message, and what its diagnosis says to do.
    """

    outcome: str
    causes: tuple[tuple[str, str, str], ...]


@cache
def cases():
    """All incidents, in the order in which they stand in the files."""
    found = []
    for path in sorted((FOLDER / "cases").glob("*.yaml")):
        found += yaml.safe_load(path.read_text())
    return found


def is_plain(case) -> bool:
    """Whether the model is of no kind of its own."""
    return case["model"].startswith(PLAIN)


def report_of(case, folder: Path):
    """The report of `check` on the dump and logs of an incident."""
    build(case).write(folder)
    out, err = io.StringIO(), io.StringIO()
    arguments = ["--from", str(folder), "--complete", "--now", NOON.isoformat(), "-o", "json"]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            check(arguments)
        except Exception as error:
            if "nothing can be judged" in str(error):
                return {"findings": []}
            raise
    return json.loads(out.getvalue())


@cache
def _told(number: int) -> Told:
    with tempfile.TemporaryDirectory() as folder:
        return judge(cases()[number], report_of(cases()[number], Path(folder)))


def told_of(case) -> Told:
    """What is told of an incident; each is looked at once."""
    return _told(cases().index(case))


def judge(case, report) -> Told:
    """Compare what fires with what must be told, and with what is true of the case at all."""
    firing = [each for each in report["findings"] if each["disposition"] == "firing"]
    causes = tuple(
        (
            each["reason"],
            _OTHERS.sub("", each["message"]),
            each.get("diagnosis", {}).get("action", ""),
        )
        for each in firing
    )
    if not causes:
        return Told("nothing", ())
    true = (*case.get("reasons", ()), *_TRUE_OF[case["model"].split()[0]])
    untrue = [
        reason
        for reason, message, _ in causes
        if not reason.startswith(true)
        or any(each.lower() in message.lower() for each in case.get("never", ()))
    ]
    if untrue:
        return Told("untrue", causes)
    wanted = [each.lower() for each in case["told"]]
    named = any(
        all(each in f"{message} {action}".lower() for each in wanted)
        for _, message, action in causes
    )
    return Told("named" if named and len(causes) == 1 else "symptom", causes)


def in_a_model(case):
    """A plain incident with the same pods in an InferenceService: what is told once it is a model.

    None of one whose fault is not in the model's own pods or in what these are called, or whose pods
    nobody takes for an engine.
    """
    if "serves" in case.get("pod", {}) or not case.get("engine", True) or case.get("by_name"):
        return None
    name = case["model"].split()[1]
    container = {key: value for key, value in case.get("container", {}).items() if key != "name"}
    events = [
        {about: text.replace("Container vllm", "Container kserve-container")}
        for each in case.get("events", ())
        for about, text in each.items()
    ]
    return {key: value for key, value in case.items() if key != "deployment"} | {
        "model": f"InferenceService {name}",
        "container": container,
        "events": events,
        "reasons": ["clusterNodeNotReady", "clusterSharedCause"],
    }


@cache
def told_in_a_model(number: int) -> Told | None:
    """What is told of the incident of that number with its pods in an InferenceService."""
    case = in_a_model(cases()[number])
    if case is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        return judge(case, report_of(case, Path(folder)))


def named_in_a_model() -> tuple[int, int]:
    """How many plain incidents are named with their pods in an InferenceService, and of how many."""
    numbers = [number for number, each in enumerate(cases()) if is_plain(each)]
    told = [each for each in map(told_in_a_model, numbers) if each is not None]
    return sum(each.outcome == "named" for each in told), len(told)


def flags():
    """By `source id` of each incident whether it is named, as it was when the flags were written."""
    return yaml.safe_load(FLAGS.read_text())


def key(case) -> str:
    """How an incident is called in the flags."""
    return f"{case['source']} {case['id']}"


def write_flags() -> None:
    """Write which incidents are named now."""
    lines = [f"{key(each)}: {str(told_of(each).outcome == 'named').lower()}\n" for each in cases()]
    FLAGS.write_text(
        "# Which incidents are named: `python -m tests.incidents --write` writes it. What is named stays named.\n"
        + "".join(lines)
    )


def score(chosen) -> str:
    """Return the score of some incidents, in all and by class and by where the cause shows."""
    outcomes = Counter(told_of(each).outcome for each in chosen)
    others = ", ".join(f"{outcomes[each]} {each}" for each in ("symptom", "nothing", "untrue"))
    lines = [f"{outcomes['named']} of {len(chosen)} named, {others}"]
    for what in ("class", "shows"):
        kinds = Counter(each[what] for each in chosen)
        named = Counter(each[what] for each in chosen if told_of(each).outcome == "named")
        parts = [f"{kind} {named[kind]}/{count}" for kind, count in sorted(kinds.items())]
        lines.append(f"  by {what}: {', '.join(parts)}")
    return "\n".join(lines)
