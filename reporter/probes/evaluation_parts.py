"""The parts of an evaluation: one that fails keeps no other from being made."""

import traceback
from collections.abc import Callable, Iterable
from itertools import chain
from operator import attrgetter
from typing import Final, TypeVar

from reporter.model.finding import Evaluation, Finding, Unjudged
from reporter.model.subject import CLUSTER, Subject

T = TypeVar("T")

_PACKAGE: Final = "reporter"

NOTHING_SAID: Final = Evaluation((), (), ())


def contained_probe(reason: str, probe: str, ask: Callable[[], Iterable[Finding]]) -> Evaluation:
    """Return what a probe of a reason finds, or that the reason could not be judged."""
    return contained(lambda: Evaluation(tuple(ask()), (), ()), CLUSTER, reason=reason, probe=probe)


def contained(
    ask: Callable[[], Evaluation], about: Subject, *, reason: str = "", probe: str = ""
) -> Evaluation:
    """Ask probes; should they fail on an object, only what they were asked about is left open.

    That is all about a subject, or, where `reason` is given, that reason; see `Unjudged`.
    """
    try:
        return ask()
    except Exception as error:  # noqa: BLE001  # told by a finding that names where
        return Evaluation((), (), (), unjudged=(Unjudged(about, _where(error), reason, probe),))


def _where(error: Exception) -> str:
    """Return what failed, and where in our code: the text of an error may hold the object's."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [each for each in frames if f"/{_PACKAGE}/" in each.filename]
    if not ours:
        return type(error).__name__
    path = ours[-1].filename.rpartition(f"/{_PACKAGE}/")[2]
    return f"{type(error).__name__} in {_PACKAGE}/{path}, line {ours[-1].lineno}"


def joined(parts: Iterable[Evaluation], before: Evaluation = NOTHING_SAID) -> Evaluation:
    """Return one evaluation of all parts, in their order.

    What is the same as `before` stays the very object, so that others see at once that it is.
    """
    parts = tuple(parts)
    undecided = {pod: which for part in parts for pod, which in part.undecided.items()}
    return Evaluation(
        findings=_chained(map(attrgetter("findings"), parts), before.findings),
        ready=_chained(map(attrgetter("ready"), parts), before.ready),
        subjects=_chained(map(attrgetter("subjects"), parts), before.subjects),
        undecided=undecided,
        derived=_chained(map(attrgetter("derived"), parts), before.derived),
        unjudged=_chained(map(attrgetter("unjudged"), parts), before.unjudged),
        serving=_chained(map(attrgetter("serving"), parts), before.serving),
    )


def _chained(parts: Iterable[tuple[T, ...]], before: tuple[T, ...]) -> tuple[T, ...]:
    found = list(filter(None, parts))
    chained = found[0] if len(found) == 1 else tuple(chain.from_iterable(found))
    return before if chained == before else chained
