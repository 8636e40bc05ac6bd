"""Kinds that users declared and that the cluster does not serve: not installed, or misspelt."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from reporter.model.catalogue import Catalogue
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.snapshot.snapshot import Discovery, Served, Snapshot

_SIMILAR: Final = 0.85


@dataclass(frozen=True, slots=True, order=True)
class Unserved:
    """A declaration of a condition that can tell nothing, for its kind is not served.

    Attributes:
        reason: that it declares.
        resource: `<plural>.<group>`.
        near: what is served and has nearly that name; empty if nothing does.

    """

    reason: str
    resource: str
    near: str

    def __str__(self) -> str:
        hint = f"; did you mean {self.near}?" if self.near else ", so nothing is told"
        return f"{self.reason}: {self.resource} is not served{hint}"


def unserved(
    catalogue: Catalogue,
    discovery: Discovery,
    state: Callable[[Resource[KubeObject]], Served],
) -> Iterator[Unserved]:
    """Yield the declared conditions whose kind is known not to be served.

    That is no fault: what brings the kind may come later, or never.
    """
    names = discovery.served or frozenset()
    for each in catalogue.declared:
        if each.component.condition is None or each.resource is None:
            continue
        if state(each.resource) is Served.ABSENT:
            name = str(each.resource)
            near = get_close_matches(name, sorted(names - {name}), n=1, cutoff=_SIMILAR)
            yield Unserved(each.component.reason, name, near[0] if near else "")


def unserved_notes(snapshot: Snapshot, catalogue: Catalogue) -> tuple[str, ...]:
    """Return the same for the reader of a report, one sentence each."""
    found = unserved(
        catalogue, snapshot.discovery, lambda resource: snapshot.state(resource).served
    )
    return tuple(f"{each}{'' if each.near else '.'}" for each in found)
