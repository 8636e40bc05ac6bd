"""Probes of what users declare beside the built-in catalogue (`custom-components`)."""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Final, TypeAlias

from reporter.model.catalogue import Declared
from reporter.model.finding import Evaluation, Finding
from reporter.model.subject import Subject
from reporter.probes.custom.conditions import probe_condition
from reporter.probes.custom.crds import probe_crd
from reporter.probes.custom.workloads import probe_workload
from reporter.probes.parts import contained_probe, joined
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot

_Probe: TypeAlias = Callable[[Declared, Snapshot, EvaluationSettings], Iterator[Finding]]

_PROBES: Final[tuple[_Probe, ...]] = (probe_workload, probe_crd, probe_condition)


def evaluate_custom(
    snapshot: Snapshot, settings: EvaluationSettings, subjects: Collection[Subject]
) -> Evaluation:
    """Return what is said of all declarations, as far as it is about one of `subjects`.

    It is asked anew in each pass: what does not change is in the indexes of the tables.
    """
    return joined(
        contained_probe(
            declared.component.reason,
            "custom component",
            partial(_found, declared, snapshot, settings, subjects),
        )
        for declared in settings.catalogue.declared
    )


def _found(
    declared: Declared,
    snapshot: Snapshot,
    settings: EvaluationSettings,
    subjects: Collection[Subject],
) -> Iterator[Finding]:
    for probe in _PROBES:
        for finding in probe(declared, snapshot, settings):
            if finding.subject in subjects:
                yield finding
