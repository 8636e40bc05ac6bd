"""Declarations for tests, and their findings."""

from reporter.evaluation import evaluate
from reporter.model.finding import Finding
from reporter.stacks.settings import FullEvaluationSettings
from tests.unit.probes.building import ALL_CRDS, document, snapshot_of

WIDGETS = {"group": "example.com", "version": "v1", "plural": "widgets", "kind": "Widget"}
GRIDS = {
    "group": "example.com", "version": "v1", "plural": "grids", "kind": "Grid", "namespaced": False,
}  # fmt: skip
CRDS = ALL_CRDS | {"widgets.example.com", "grids.example.com"}


def settings_of(*components: dict, **settings) -> FullEvaluationSettings:
    """Settings with these declarations."""
    return FullEvaluationSettings(custom_components=list(components), **settings)


def snapshot(settings: FullEvaluationSettings, *docs: dict, served=CRDS, **options):
    """A snapshot with the declared resources."""
    declared = settings.catalogue.resources[len(FullEvaluationSettings().catalogue.resources) :]
    return snapshot_of(*docs, declared=declared, served=served, **options)


def found(component: dict, *docs: dict, **options) -> list[Finding]:
    """The findings of one declaration about a cluster."""
    settings = settings_of(component)
    evaluation = evaluate(snapshot(settings, *docs, **options), settings)
    return [each for each in evaluation.findings if each.reason == component["reason"]]


def widget(name: str, *patches: dict, namespace: str = "demo", kind: str = "Widget") -> dict:
    """An object with conditions."""
    return document(kind, name, namespace, {"apiVersion": "example.com/v1"}, *patches)


def says(*conditions: dict, **status) -> dict:
    """A patch with these conditions."""
    return {"status": {"conditions": list(conditions), **status}}
