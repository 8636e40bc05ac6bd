"""Checks the user's declarations before they are used.

Types and keys have been checked already. These checks are about names, places in the catalogue, and
references between declarations.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from reporter.catalogue.custom.extend import (
    ALLOWED,
    WORKLOADS,
    Problem,
    Wrong,
    kind_of,
    prefixes_of,
)
from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.catalogue.resources import BY_PLACE
from reporter.model import catalogue as m
from reporter.model import text as t
from reporter.model.resource import parse_selector
from reporter.model.subject import Layer, SubjectKind

_SELECTOR_LETTERS: Final = 1000
MOST_NAMESPACES: Final = 20
_WITHOUT_CONDITIONS: Final = {
    ("", "configmaps"), ("", "events"), ("", "secrets"), ("", "serviceaccounts"),
    ("rbac.authorization.k8s.io", "*"), ("authentication.k8s.io", "*"),
    ("authorization.k8s.io", "*"), ("coordination.k8s.io", "*"),
}  # fmt: skip
"""Kinds without conditions; some, such as Secrets, should not be readable without need."""


def wrong_objects(component: m.CustomComponent) -> Iterator[Problem]:
    if component.workload:
        yield from _workload(component.workload, component.layer)
    if component.crd:
        yield from _crd(component.crd, component.layer)
    if component.condition:
        yield from _condition(component.condition, component.layer)


def wrong_kinds(
    components: Sequence[m.CustomComponent], catalogue: m.Catalogue
) -> Iterator[tuple[int, Problem]]:
    """Yield the entries that contradict another entry, or the catalogue, about a resource."""
    known = {
        (each.group, each.plural): (each.kind, each.namespaced, each.versions, "as it is built in")
        for each in (*catalogue.resources, *BY_PLACE, *WORKLOADS.values())
    }
    for entry, component in enumerate(components, 1):
        condition = component.condition
        if condition is None:
            continue
        own = (condition.kind, condition.namespaced, (condition.version,), f"as in entry {entry}")
        what = (condition.group, condition.plural)
        kind, namespaced, versions, where = known.setdefault(what, own)
        if condition.kind != kind:
            yield entry, Problem("condition.kind", condition.kind, f"{kind}, {where}")
        if condition.namespaced is not namespaced:
            wanted = str(namespaced).lower()
            problem = Problem("condition.namespaced", condition.namespaced, f"{wanted}, {where}")
            yield entry, problem
        if condition.version not in versions:
            wanted = " or ".join(versions)
            yield entry, Problem("condition.version", condition.version, f"{wanted}, {where}")


def _workload(workload: m.CustomWorkload, layer: Layer) -> Iterator[Problem]:
    key = "workload.namespaces"
    if layer is Layer.DEPLOYMENT:
        yield Problem(
            "workload",
            f"{workload.kind} {workload.name}",
            "condition, as no workload can be told apart by model; or another layer",
            f"not in the layer {layer}",
        )
    if not t.is_subdomain(workload.name):
        yield Problem("workload.name", workload.name, ALLOWED["workload.name"])
    if layer is Layer.CLUSTER and not workload.namespaces:
        yield Problem(
            key,
            None,
            f"{ALLOWED[key]}, one at least",
            "without it a workload is looked for in each workload namespace, in the layer "
            "modelharness only",
        )
    if len(workload.namespaces) > MOST_NAMESPACES:
        count = f"{len(workload.namespaces)} namespaces"
        yield Problem(key, count, f"at most {MOST_NAMESPACES}")
    for namespace in workload.namespaces:
        if not t.is_label(namespace):
            yield Problem(key, namespace, ALLOWED[key])


def _crd(crd: m.CustomCrd, layer: Layer) -> Iterator[Problem]:
    if layer is not Layer.CLUSTER:
        yield Problem(
            "crd",
            crd.name,
            "the layer cluster, which all CustomResourceDefinitions are of",
            f"not in the layer {layer}",
        )
    if not t.is_crd_name(crd.name):
        yield Problem("crd.name", crd.name, ALLOWED["crd.name"])


def _condition(condition: m.CustomCondition, layer: Layer) -> Iterator[Problem]:
    forms = (
        (
            "condition.group",
            condition.group,
            not condition.group or t.is_subdomain(condition.group),
        ),
        ("condition.version", condition.version, t.is_version(condition.version)),
        ("condition.plural", condition.plural, t.is_plural(condition.plural)),
        ("condition.kind", condition.kind, t.is_kind(condition.kind)),
        ("condition.type", condition.type, t.is_label_key(condition.type)),
        ("condition.status", condition.status, condition.status in ("True", "False")),
        ("condition.selector", condition.selector, _is_selector(condition.selector)),
    )
    for key, value, right in forms:
        if not right:
            yield Problem(key, value, ALLOWED[key])
    group, plural = condition.group, condition.plural
    if _WITHOUT_CONDITIONS & {(group, plural), (group, "*")}:
        yield Problem("condition.plural", plural, "a kind that has conditions", "it has none")
    if group == "apiextensions.k8s.io":
        yield Problem("condition.group", group, "crd, which says that one must be served")
    if layer is not Layer.CLUSTER and not condition.namespaced:
        yield Problem("condition.namespaced", False, f"true, in the layer {layer}")
    yield from _subject_label(condition, layer)


def _subject_label(condition: m.CustomCondition, layer: Layer) -> Iterator[Problem]:
    key, label = "condition.subject-label", condition.subject_label
    if label and layer is not Layer.DEPLOYMENT:
        yield Problem(key, label, "nothing, as it is for the layer modeldeployment")
    if label and not t.is_label_key(label):
        yield Problem(key, label, ALLOWED[key])


def _is_selector(text: str) -> bool:
    if len(text) > _SELECTOR_LETTERS:  # parsing a longer one is slow
        return False
    try:
        parse_selector(text)
    except ValueError:
        return False
    return True


MOST_COMPONENTS: Final = 100
MOST_LETTERS: Final = 63
"""Longest reason: it is the value of a label of its Events."""

LONGEST_GRACE_SECONDS: Final = 86_400
SUPPRESSED_BYTES: Final = 700
"""Limit on the names that a declaration suppresses: an Event lists them all in 1,024 bytes."""

ONE_OF_THREE: Final = "exactly one of workload, crd and condition"

TEXT_BYTES: Final = {"summary": 200, "action": 500, "why": 200}


def find_wrong(
    components: Sequence[m.CustomComponent], catalogue: m.Catalogue
) -> tuple[Wrong, ...]:
    """Return the problems of declarations added to a catalogue, in the order of the entries."""
    return tuple(sorted(_wrong(components, catalogue), key=lambda each: each.entry))


def _wrong(components: Sequence[m.CustomComponent], catalogue: m.Catalogue) -> Iterator[Wrong]:
    kinds = _kinds(components, catalogue)
    taken = {each.name.lower(): "it is built in" for each in catalogue}
    for entry, component in enumerate(components, 1):
        problems = chain(
            _reason(component, taken, catalogue),
            _numbers_and_texts(component),
            _one_of_three(component),
            wrong_objects(component),
            _place(component, kinds, catalogue),
            _suppresses(component, kinds),
        )
        yield from (Wrong(entry, component.reason, each) for each in problems)
        taken.setdefault(component.reason.lower(), f"entry {entry} has it")
    for find in (circles_of_places, circles_of_suppression, wrong_kinds):
        for entry, problem in find(components, catalogue):
            yield Wrong(entry, components[entry - 1].reason, problem)


def _reason(
    component: m.CustomComponent, taken: Mapping[str, str], catalogue: m.Catalogue
) -> Iterator[Problem]:
    name = component.reason
    prefixes = prefixes_of(component.layer, catalogue)
    prefix = next((each for each in prefixes if name.startswith(each)), None)
    if name.lower() in taken:
        yield Problem("reason", name, "a name that is not taken yet", taken[name.lower()])
    elif not (name.isascii() and name.isalnum() and name[:1].islower()) or len(name) > MOST_LETTERS:
        yield Problem("reason", name, ALLOWED["reason"])
    elif prefix is None or not name.removeprefix(prefix)[:1].isupper():
        wanted = f"{' or '.join(prefixes)} with more in camel case after it"
        yield Problem("reason", name, f"{wanted}, in the layer {component.layer}")
    elif name.endswith("Ready") and not name.endswith("NotReady"):
        yield Problem("reason", name, "an end other than Ready, which would say that all works")


def _numbers_and_texts(component: m.CustomComponent) -> Iterator[Problem]:
    seconds = component.grace_seconds
    if seconds is not None and not 0 <= seconds <= LONGEST_GRACE_SECONDS:
        yield Problem("grace-seconds", seconds, ALLOWED["grace-seconds"])
    for key, most in TEXT_BYTES.items():
        text: str = getattr(component, key)
        if len(text.encode("utf-8", "replace")) > most:
            yield Problem(key, text, f"at most {most} bytes")
        elif text != t.clean(text):
            allowed = "one line of text without links, credentials and control characters"
            yield Problem(key, text, allowed)


def _one_of_three(component: m.CustomComponent) -> Iterator[Problem]:
    given = [key for key in ("workload", "crd", "condition") if getattr(component, key)]
    if len(given) != 1:
        value = " and ".join(given) or None
        yield Problem(given[0] if given else "workload", value, ONE_OF_THREE)


def _place(
    component: m.CustomComponent, kinds: dict[str, SubjectKind | None], catalogue: m.Catalogue
) -> Iterator[Problem]:
    if component.before and component.after:
        yield Problem("after", component.after, "before or after, not both")
    for key, name in (("before", component.before), ("after", component.after)):
        if name:
            yield from _anchor(component, key, name, kinds=kinds, catalogue=catalogue)


def _anchor(
    component: m.CustomComponent,
    key: str,
    name: str,
    *,
    kinds: dict[str, SubjectKind | None],
    catalogue: m.Catalogue,
) -> Iterator[Problem]:
    kind = kind_of(component, catalogue)
    if kind is None:
        return  # its name is wrong
    same = [each for each, of in kinds.items() if of == kind and each != component.reason]
    allowed = f"another reason of the same kind of subject, {kind}"
    if name not in kinds:
        yield Problem(key, name, allowed, no_reason(name, same))
    elif name not in same:
        other = f"it is about another kind, {of}" if (of := kinds[name]) else _WORKS
        yield Problem(key, name, allowed, "it is the same" if name == component.reason else other)


_WORKS: Final = "it says that something works"


def _suppresses(
    component: m.CustomComponent, kinds: dict[str, SubjectKind | None]
) -> Iterator[Problem]:
    key, names = "suppresses", component.suppresses
    if component.why and not names:
        yield Problem("why", component.why, "nothing, as it says why suppresses is right")
    if not names:
        return
    if component.layer is not Layer.CLUSTER:
        yield Problem(key, list(names), "nothing, as only reasons of the layer cluster suppress")
    if not component.why:
        yield Problem("why", None, "the evidence that what is suppressed has no valid input")
    for name in names:
        yield from _suppressed(component, name, kinds)
    if len(", ".join(names).encode()) > SUPPRESSED_BYTES:
        most = f"names of {SUPPRESSED_BYTES} bytes together, as an Event lists them"
        yield Problem(key, f"{len(names)} reasons", most)


def _suppressed(
    component: m.CustomComponent, name: str, kinds: dict[str, SubjectKind | None]
) -> Iterator[Problem]:
    if name not in kinds:
        faults = [each for each, kind in kinds.items() if kind]
        yield Problem("suppresses", name, ALLOWED["suppresses"], no_reason(name, faults))
    elif name == component.reason:
        yield Problem("suppresses", name, "other reasons")
    elif kinds[name] is None:
        yield Problem("suppresses", name, "reasons of faults", _WORKS)
    elif name == CLUSTER_STATUS_UNKNOWN:
        why = "what cannot be read is told in any case"
        yield Problem("suppresses", name, "reasons of faults", why)


def no_reason(name: str, names: Sequence[str]) -> str:
    """Say that a reason does not exist, and suggest a similar one."""
    return f"{name!r} is not a reason{t.meant(name, names)}"


def _kinds(
    components: Sequence[m.CustomComponent], catalogue: m.Catalogue
) -> dict[str, SubjectKind | None]:
    """Return the kind of subject of each reason; None for reasons that say that all works."""
    built_in = {each.name: None if each.says_ready else each.subject_kind for each in catalogue}
    return {each.reason: kind_of(each, catalogue) for each in components} | built_in


_Next = Mapping[str, Sequence[str]]


def circles_of_places(
    components: Sequence[m.CustomComponent], catalogue: m.Catalogue
) -> Iterator[tuple[int, Problem]]:
    """Yield each entry whose place depends on itself through other entries."""
    del catalogue  # the places of its reasons do not depend on others
    anchors = {each.reason: (each.before or each.after,) for each in components}
    for entry, each in enumerate(components, 1):
        key = "before" if each.before else "after"
        anchor = each.before or each.after
        way = _way(anchor, each.reason, anchors) if anchor != each.reason else ()
        if way:
            yield entry, Problem(key, anchor, "places that form no circle", _round(each, way))


def circles_of_suppression(
    components: Sequence[m.CustomComponent], catalogue: m.Catalogue
) -> Iterator[tuple[int, Problem]]:
    """Yield each entry that suppresses itself through other reasons."""
    rows: dict[str, list[str]] = defaultdict(list)
    for row in catalogue.suppression:
        rows[row.upstream] += row.downstream
    for each in components:
        rows[each.reason] += each.suppresses
    for entry, each in enumerate(components, 1):
        for name in each.suppresses:
            way = _way(name, each.reason, rows) if name != each.reason else ()
            if way:
                allowed = "reasons that do not suppress it in turn"
                yield entry, Problem("suppresses", name, allowed, _round(each, way))


def _round(component: m.CustomComponent, way: Sequence[str]) -> str:
    return " -> ".join((component.reason, *way))


def _way(start: str, end: str, following: _Next) -> tuple[str, ...]:
    """Return a shortest path between two names, both included; empty if there is none."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    for way in ways:
        if way[-1] == end:
            return way
        for name in following.get(way[-1], ()):
            if name and name not in seen:
                seen.add(name)
                ways.append((*way, name))
    return ()
