"""A stack that one module declares is in everything that a user sees, and no other module knows it."""

import ast
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from reporter.catalogue.render import reason_text
from reporter.daemon.one_pass import Before, RecentWrites, run_pass
from reporter.evaluation import evaluate
from reporter.metrics.scraping.targets import find_targets
from reporter.model.instant import Instant
from reporter.model.subject import Subject
from reporter.resolution import Memory, resolve
from reporter.settings import DaemonSettings, EvaluationSettings
from reporter.sinks.page.build import layers_of
from reporter.sinks.report_json import report_json
from reporter.sinks.report_text import report_text
from reporter.stacks import STACKS
from reporter.stacks.settings import with_stacks
from tests.unit.probes.building import ALL_CRDS, document, merged, namespace, pod, waiting
from tests.unit.probes.building import snapshot_of as snapshot_of_built_in
from tests.unit.stacks.toy import CONTROLLER_DOWN, PODS_NOT_READY, READY, TOY, TOYSERVER, TOYSERVERS
from tools.generated import cluster_role_files, values_schema
from tools.pages import reasons_page, stacks_page

ROOT = Path(__file__).parents[3]
Settings = with_stacks(EvaluationSettings, (*STACKS, TOY))
CATALOGUE = Settings.built_in()
NOON = Instant(datetime(2026, 11, 20, 12, tzinfo=UTC), timedelta(days=1))
SUBJECT = Subject(TOYSERVER, "play", "bear")


def snapshot_of(*docs):
    """A cluster with toys."""
    served = ALL_CRDS | {TOYSERVERS.crd_name}
    return snapshot_of_built_in(*docs, served=served, declared=TOY.resources)


def toy_pod(*patches, ready=True):
    labels = {"metadata": {"labels": {"toys.example.org/server": "bear"}}}
    return merged(pod("play", "bear-0", "bear", ready=ready), labels, *patches)


def resolved(*docs, **settings):
    chosen = Settings(stacks={"kaito": "off"}, **settings)
    snapshot = snapshot_of(
        namespace("play"),
        document("ToyServer", "bear", "play", {"apiVersion": TOYSERVERS.api_version()}),
        *docs,
    )
    return resolve(evaluate(snapshot, chosen), snapshot, Memory(), now=NOON, settings=chosen)


def test_settings():
    """Its names, its mode, and a grace for each of its reasons."""
    settings = Settings(toy_deployment="teddy", stacks="toy=on", grace=f"{PODS_NOT_READY}=5")
    assert (settings.stack("toy"), settings.text_of("toy_deployment")) == ("on", "teddy")
    with pytest.raises(ValidationError, match="not a stack"):
        with_stacks(EvaluationSettings)(stacks="toy=on")


def test_explain_and_documentation():
    """What it tells, what hides it, and what is read for it."""
    text = reason_text(CATALOGUE[PODS_NOT_READY], CATALOGUE)
    assert f"{CONTROLLER_DOWN}, because the controller makes the pods" in text
    assert PODS_NOT_READY in reasons_page(CATALOGUE)
    page = stacks_page((ROOT / "docs" / "stacks.md").read_text(), CATALOGUE)
    assert "| **Toys** (`toy`): ToyServers | `toyservers.toys.example.org` | nothing |" in page


def test_the_chart():
    """The rights to read it are a file of its own, and the schema knows its mode and its reasons."""
    assert (
        "- toyservers # ToyServers, and how they are" in cluster_role_files(CATALOGUE)["toy.yaml"]
    )
    path = ROOT / "helm" / "productionstack-status-reporter" / "values.schema.json"
    schema = json.loads(values_schema(path.read_text(), CATALOGUE))
    assert "toy" in schema["properties"]["stacks"]["properties"]
    assert {CONTROLLER_DOWN, PODS_NOT_READY, READY} <= {*schema["definitions"]["reason"]["enum"]}


def test_report_and_page():
    """A fault is resolved, told in text and JSON, and has its place among the models."""
    report = resolved(
        toy_pod(waiting("CrashLoopBackOff"), ready=False), startup_grace_seconds=0
    ).report
    (fault,) = (each for each in report.findings if each.subject == SUBJECT)
    assert (fault.reason, fault.disposition) == (PODS_NOT_READY, "firing")
    assert fault.message.startswith("ToyServer play/bear: pod bear-0: ")
    assert PODS_NOT_READY in report_text(report)
    told = json.loads(report_json(report, Settings()))
    assert str(SUBJECT) in {each["subject"] for each in told["findings"]}
    ids = {each.key: "f" for each in report.findings}
    groups = [group.title for layer in layers_of(report, ids) for group in layer.groups]
    assert "ToyServers of Toys" in groups


def test_ready():
    """Its positive evidence is taken as that of any stack."""
    report = resolved(toy_pod()).report
    assert [each.subject for each in report.ready if each.reason == READY] == [SUBJECT]


def test_its_cause_suppresses():
    """While it must be there and its kind is not served, that is told, and it alone."""
    settings = Settings(stacks="toy=on", startup_grace_seconds=0)
    snapshot = snapshot_of_built_in(namespace("play"), served=set(), declared=TOY.resources)
    result = resolve(evaluate(snapshot, settings), snapshot, Memory(), now=NOON, settings=settings)
    missing = {each.related.name for each in result.report.findings}
    assert TOYSERVERS.crd_name in missing


def test_its_pods_are_scraped():
    """As it says which they are."""
    container = {"spec": {"containers": [{"name": "toy", "ports": [{"containerPort": 8000}]}]}}
    running = {"status": {"podIP": "10.0.0.7", "phase": "Running", "containerStatuses": [
        {"name": "toy", "state": {"running": {"startedAt": "2026-11-20T11:00:00Z"}}}
    ]}}  # fmt: skip
    snapshot = snapshot_of(namespace("play"), toy_pod(container, running))
    targets = find_targets(snapshot, Settings(stacks="toy=on")) or ()
    assert [(each.subject, each.port) for each in targets] == [(SUBJECT, 8000)]


NAMES = ("kaito", "kthena", "otterscale", "kserve", "inferenceset", "modelserving", "modelservice",
         "inferenceservice")  # fmt: skip


def test_what_it_writes_is_carried_from_pass_to_pass():
    """The pass hands on what it remembers and what it was answered, and returns what it plans."""
    settings = with_stacks(DaemonSettings, (*STACKS, TOY))()
    recent_writes, first = RecentWrites(), Before()
    plans = []
    for _ in range(2):
        done = run_pass(
            snapshot_of(), first, recent_writes, now=NOON, settings=settings, instance="a"
        )
        plans.append(done.outputs["toy"])
        first, recent_writes = done.after, RecentWrites(outputs={"toy": "a yes"})
    assert plans == ["a: 1 after None", "a: 2 after a yes"]


EXEMPT = {
    "reporter/metrics/pages/names.py": "names of metrics, as KAITO's runtime serves them",
    "reporter/catalogue/needs.py": "the charts whose objects need the shared parts",
    "reporter/catalogue/resources.py": "the API group of APIKeys, which the gateway reads",
    "reporter/catalogue/runtime.py": "what to do names the autoscaler that KAITO users have",
    "reporter/catalogue/ways.py": "the sources of what parts on a way do, charts and projects",
    "reporter/settings.py": "namespaces where the shared router is in a production stack",
    "reporter/workload/components.py": "the label of workload namespaces",
}
"""Central files in which the name of a stack stands outside of comments, and why."""


def test_central_code_names_no_stack():
    """Else the next stack would have to be named there too."""
    named = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "reporter").rglob("*.py")
        if "stacks" not in path.relative_to(ROOT).parts and _names_a_stack(path)
    }
    assert named - EXEMPT.keys() == set()
    assert named >= EXEMPT.keys(), "an exemption that nothing needs any more"


def _names_a_stack(path):
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    words = [
        node.value if isinstance(node, ast.Constant) else _name(node)
        for node in ast.walk(tree)
        if id(node) not in documentation
    ]
    return any(name in word.lower() for word in words if isinstance(word, str) for name in NAMES)


def _name(node):
    for field in ("id", "attr", "module", "name", "arg"):
        value = getattr(node, field, None)
        if isinstance(value, str):
            return value
    return ""
