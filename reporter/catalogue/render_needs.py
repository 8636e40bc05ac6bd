"""Which shared parts there are, and what shows that a cluster needs each: for readers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from reporter.catalogue.reasons import CLUSTER_CRD_MISSING
from reporter.catalogue.shared_parts import SHARED_CONTROLLERS, SHARED_REQUIRED, with_parts
from reporter.model.catalogue import Catalogue
from reporter.model.reason import Reason
from reporter.model.stack import Controller, Need, RequiredKind


@dataclass(frozen=True, slots=True)
class SharedPart:
    """A shared part, by its name in `--components`, with its rows."""

    name: str
    controllers: tuple[Controller, ...]
    required: tuple[RequiredKind, ...]


def shared_parts(catalogue: Catalogue) -> tuple[SharedPart, ...]:
    """Return the shared parts, those that are of no stack first."""
    controllers = [(each.part, each) for each in SHARED_CONTROLLERS]
    required = [(each.part, each) for each in SHARED_REQUIRED]
    for stack in catalogue.stacks:
        controllers += [(each.part or stack.name, each) for each in stack.controllers]
        required += [(each.part or stack.name, each) for each in stack.required]
    return tuple(
        SharedPart(
            name,
            tuple(each for part, each in controllers if part == name),
            tuple(each for part, each in required if part == name),
        )
        for name in dict.fromkeys(part for part, _ in controllers)
    )


def components_page(text: str, catalogue: Catalogue) -> str:
    """Return a page with its tables rendered anew."""
    rows = {"needs": partial(_needs, catalogue), "kinds": partial(_kinds, catalogue)}
    return with_parts(text, rows)


def missed_where(reason: Reason, catalogue: Catalogue) -> list[tuple[str, Need]]:
    """Return what shows that something of a reason has to be there, by the name of what it is."""
    found: list[tuple[str, Need]] = []
    for part in shared_parts(catalogue):
        found += [
            (part.name, need)
            for controller in part.controllers
            if controller.reason == reason.name
            for need in controller.needs
        ]
        if reason.name == CLUSTER_CRD_MISSING:
            found += [(kind.crd, need) for kind in part.required for need in kind.needs]
    return list(dict.fromkeys(found))


def place_settings(catalogue: Catalogue) -> tuple[str, ...]:
    """Return the settings that say what the Deployments of shared parts are called, and where they are."""
    names = (
        name
        for part in shared_parts(catalogue)
        for each in part.controllers
        for name in (each.namespaces, each.else_namespaces, each.deployment)
    )
    return tuple(dict.fromkeys(filter(None, names)))


def _needs(catalogue: Catalogue) -> Iterator[str]:
    yield "| part | its reason | is missed where the cluster has | because |"
    yield "| --- | --- | --- | --- |"
    for part in shared_parts(catalogue):
        reasons = ", ".join(dict.fromkeys(f"`{each.reason}`" for each in part.controllers))
        for need in _of(part.controllers):
            yield f"| `{part.name}` | {reasons} | {need.words} | {need.evidence} |"


def _kinds(catalogue: Catalogue) -> Iterator[str]:
    yield "| part | kind | is missed where the cluster has | because |"
    yield "| --- | --- | --- | --- |"
    for part in shared_parts(catalogue):
        for kind in part.required:
            start = f"| `{part.name}` | `{kind.crd}` |"
            for each in kind.of:
                yield f"{start} a Deployment of `{each}` | it cannot run without the kind |"
            for need in kind.needs:
                yield f"{start} {need.words} | {need.evidence} |"


def _of(rows: Iterable[Controller]) -> Iterable[Need]:
    return dict.fromkeys(need for each in rows for need in each.needs)
