"""What is wrong with declarations, before anything is made of them.

Types and keys are checked already. What is checked here are names, places in the catalogue, and
what declarations say of each other.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from reporter.catalogue.custom.circles import circles_of_places, circles_of_suppression
from reporter.catalogue.custom.kinds import kind_of, prefixes_of
from reporter.catalogue.custom.named_objects import wrong_kinds, wrong_objects
from reporter.catalogue.custom.problems import ALLOWED, Problem, Wrong
from reporter.catalogue.reasons import CLUSTER_STATUS_UNKNOWN
from reporter.model.catalogue import Catalogue
from reporter.model.custom import CustomComponent
from reporter.model.subject import Layer, SubjectKind
from reporter.model.text import clean, meant

MOST_COMPONENTS: Final = 100
MOST_LETTERS: Final = 63
"""Of a reason, which is the value of a label of its Events."""

LONGEST_GRACE_SECONDS: Final = 86_400
SUPPRESSED_BYTES: Final = 700
"""Names of what one declaration suppresses: an Event lists them all and has 1,024 bytes."""

ONE_OF_THREE: Final = "exactly one of workload, crd and condition"

TEXT_BYTES: Final = {"summary": 200, "action": 500, "why": 200}


def find_wrong(components: Sequence[CustomComponent], catalogue: Catalogue) -> tuple[Wrong, ...]:
    """Return what is wrong with declarations added to a catalogue, in the order of the entries."""
    return tuple(sorted(_wrong(components, catalogue), key=lambda each: each.entry))


def _wrong(components: Sequence[CustomComponent], catalogue: Catalogue) -> Iterator[Wrong]:
    kinds = _kinds(components, catalogue)
    taken = {each.name.lower(): "it is built in" for each in catalogue}
    for entry, component in enumerate(components, 1):
        for check in (
            _reason(taken, catalogue),
            *_CHECKS,
            _place(kinds, catalogue),
            _suppresses(kinds),
        ):
            for problem in check(component):
                yield Wrong.of(entry, component, problem)
        taken.setdefault(component.reason.lower(), f"entry {entry} has it")
    for find in (circles_of_places, circles_of_suppression, wrong_kinds):
        for entry, problem in find(components, catalogue):
            yield Wrong.of(entry, components[entry - 1], problem)


_Check = Callable[[CustomComponent], Iterator[Problem]]


def _reason(taken: dict[str, str], catalogue: Catalogue) -> _Check:
    def check(component: CustomComponent) -> Iterator[Problem]:
        name = component.reason
        prefixes = prefixes_of(component.layer, catalogue)
        prefix = next((each for each in prefixes if name.startswith(each)), None)
        if name.lower() in taken:
            yield Problem("reason", name, "a name that is not taken yet", taken[name.lower()])
        elif not _is_reason(name):
            yield Problem("reason", name, ALLOWED["reason"])
        elif prefix is None or not name.removeprefix(prefix)[:1].isupper():
            wanted = " or ".join(prefixes)
            yield Problem(
                "reason",
                name,
                f"{wanted} with more in camel case after it, in the layer {component.layer}",
            )
        elif name.endswith("Ready") and not name.endswith("NotReady"):
            yield Problem("reason", name, "an end other than Ready, which would say that all works")

    return check


def _is_reason(name: str) -> bool:
    form = name.isascii() and name.isalnum() and name[:1].islower()
    return form and len(name) <= MOST_LETTERS


def _numbers_and_texts(component: CustomComponent) -> Iterator[Problem]:
    seconds = component.grace_seconds
    if seconds is not None and not 0 <= seconds <= LONGEST_GRACE_SECONDS:
        yield Problem("grace-seconds", seconds, ALLOWED["grace-seconds"])
    for key, most in TEXT_BYTES.items():
        text: str = getattr(component, key)
        if len(text.encode("utf-8", "replace")) > most:
            yield Problem(key, text, f"at most {most} bytes")
        elif text != clean(text):
            yield Problem(
                key, text, "one line of text without links, credentials and control characters"
            )


def _one_of_three(component: CustomComponent) -> Iterator[Problem]:
    given = [key for key in ("workload", "crd", "condition") if getattr(component, key)]
    if len(given) != 1:
        value = " and ".join(given) or None
        yield Problem(given[0] if given else "workload", value, ONE_OF_THREE)


def _place(kinds: dict[str, SubjectKind | None], catalogue: Catalogue) -> _Check:
    def check(component: CustomComponent) -> Iterator[Problem]:
        if component.before and component.after:
            yield Problem("after", component.after, "before or after, not both")
        for key, name in (("before", component.before), ("after", component.after)):
            if name:
                yield from _anchor(component, key, name, kinds=kinds, catalogue=catalogue)

    return check


def _anchor(
    component: CustomComponent,
    key: str,
    name: str,
    *,
    kinds: dict[str, SubjectKind | None],
    catalogue: Catalogue,
) -> Iterator[Problem]:
    kind = kind_of(component, catalogue)
    if kind is None:
        return  # its name is wrong
    same = [each for each, of in kinds.items() if of == kind and each != component.reason]
    allowed = f"another reason of the same kind of subject, {kind}"
    if name not in kinds:
        yield Problem(key, name, allowed, no_reason(name, same))
    elif name not in same:
        why = "it is the same" if name == component.reason else _of(kinds[name])
        yield Problem(key, name, allowed, why)


def _of(kind: SubjectKind | None) -> str:
    return f"it is about another kind, {kind}" if kind else "it says that something works"


def _suppresses(kinds: dict[str, SubjectKind | None]) -> _Check:
    def check(component: CustomComponent) -> Iterator[Problem]:
        names = component.suppresses
        if component.why and not names:
            yield Problem("why", component.why, "nothing, as it says why suppresses is right")
        if not names:
            return
        if component.layer is not Layer.CLUSTER:
            yield Problem(
                "suppresses", list(names), "nothing, as only reasons of the layer cluster suppress"
            )
        if not component.why:
            yield Problem("why", None, "the evidence that what is suppressed has no valid input")
        for name in names:
            yield from _suppressed(component, name, kinds)
        if len(", ".join(names).encode()) > SUPPRESSED_BYTES:
            yield Problem(
                "suppresses",
                f"{len(names)} reasons",
                f"names of {SUPPRESSED_BYTES} bytes together, as an Event lists them",
            )

    return check


def _suppressed(
    component: CustomComponent, name: str, kinds: dict[str, SubjectKind | None]
) -> Iterator[Problem]:
    if name not in kinds:
        faults = [each for each, kind in kinds.items() if kind]
        yield Problem("suppresses", name, ALLOWED["suppresses"], no_reason(name, faults))
    elif name == component.reason:
        yield Problem("suppresses", name, "other reasons")
    elif kinds[name] is None:
        yield Problem("suppresses", name, "reasons of faults", _of(None))
    elif name == CLUSTER_STATUS_UNKNOWN:
        yield Problem(
            "suppresses", name, "reasons of faults", "what cannot be read is told in any case"
        )


def no_reason(name: str, names: Sequence[str]) -> str:
    """Say that there is no such reason, and which one may be meant."""
    return f"{name!r} is not a reason{meant(name, names)}"


def _kinds(
    components: Sequence[CustomComponent], catalogue: Catalogue
) -> dict[str, SubjectKind | None]:
    """Return the kind of subject of each reason; None for those that say that something works."""
    built_in = {each.name: None if each.says_ready else each.subject_kind for each in catalogue}
    return {each.reason: kind_of(each, catalogue) for each in components} | built_in


_CHECKS: Final[tuple[_Check, ...]] = (_numbers_and_texts, _one_of_three, wrong_objects)
