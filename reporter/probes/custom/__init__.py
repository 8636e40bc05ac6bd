"""Probes of what users declare beyond the built-in catalogue (`custom-components`)."""

from collections.abc import Collection, Iterator
from functools import partial
from typing import Final

from reporter.model.catalogue import Declared
from reporter.model.finding import Evaluation, Finding
from reporter.model.subject import Subject
from reporter.probes.custom.conditions import (
    DeclaredScope,
    probe_condition,
    probe_crd,
    probe_workload,
)
from reporter.probes.scope import Probe, Scope, contained_probe, joined

_PROBES: Final[tuple[Probe[DeclaredScope], ...]] = (probe_workload, probe_crd, probe_condition)


def evaluate_custom(scope: Scope, subjects: Collection[Subject]) -> Evaluation:
    """Return what is said of all declarations, as far as it is about one of `subjects`.

    It is asked again in each pass: what does not change is in the indexes of the tables.
    """
    return joined(
        contained_probe(
            declared.component.reason,
            "custom component",
            partial(_found, scope, declared, subjects),
        )
        for declared in scope.settings.catalogue.declared
    )


def _found(scope: Scope, declared: Declared, subjects: Collection[Subject]) -> Iterator[Finding]:
    of_declaration = DeclaredScope(**scope.basis, declared=declared)
    for probe in _PROBES:
        for finding in probe(of_declaration):
            if finding.subject in subjects:
                yield finding
