"""What the annotations about muting say, and what is wrong with them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from reporter.model.catalogue import Catalogue
from reporter.model.instant import parse_rfc3339, rfc3339
from reporter.model.objects import MUTE, MUTE_UNTIL, Annotations
from reporter.model.text import clean, cut

_SHOWN_BYTES: Final = 80
LONGEST: Final = 8192
"""Most characters that are read of one annotation: all reasons take fewer."""

_NAMED: Final = 5
"""Most names of one annotation that are objected to one by one."""

HINTS: Final = 100
"""Most names for which a pass looks for one that may be meant: each is compared with all reasons."""

_SIMILAR: Final = 0.7


class Hints:
    """Which reason may be meant by a name that is none; of some names only, the first of a pass.

    Whoever may annotate objects may annotate thousands, each with other names.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._found: dict[str, str] = {}

    def of(self, name: str) -> str:
        """Return what to add to an objection, empty if nothing is near."""
        if name not in self._found:
            if len(self._found) >= HINTS:
                return ""
            self._found[name] = _hint(name, self._catalogue)
        return self._found[name]


@dataclass(frozen=True, slots=True)
class Asked:
    """What one object asks for.

    Attributes:
        reasons: that are muted now, sorted; none where the whole is in error, or over.
        until: when that ends; None where no end is set.
        faults: what is wrong, one sentence each.

    """

    reasons: tuple[str, ...] = ()
    until: datetime | None = None
    faults: tuple[str, ...] = ()


def asked(
    annotations: Annotations, now: datetime, catalogue: Catalogue, *, hints: Hints | None
) -> Asked:
    """Read the annotations of one object as they count at `now`.

    A time that cannot be read mutes nothing: what was meant to end must not go on for ever. Names
    that are right count next to others that are not; without `hints` these are not objected to.
    """
    if annotations.mute is None:
        return Asked(faults=(f"{MUTE_UNTIL} without {MUTE} mutes nothing",))
    named = _read(annotations.mute, catalogue, hints)
    if annotations.mute_until is None:
        return named
    try:
        until = parse_rfc3339(annotations.mute_until.strip())
    except (ValueError, OverflowError):
        fault = (
            f"{MUTE_UNTIL} {_quoted(annotations.mute_until)} is not a time like "
            "2026-11-20T12:00:00Z, so nothing is muted"
        )
        return Asked(faults=(*named.faults, fault))
    if until <= now:
        fault = f"the mute ended at {rfc3339(until)} and mutes nothing any more"
        return Asked(faults=(*named.faults, fault))
    return replace(named, until=until)


def _read(text: str, catalogue: Catalogue, hints: Hints | None) -> Asked:
    if len(text) <= LONGEST:
        return _named(text, catalogue, hints)
    named = _named(text[:LONGEST].rpartition(",")[0], catalogue, hints)
    fault = f"{MUTE} is longer than {LONGEST} characters; the rest is not read"
    return replace(named, faults=(*named.faults, fault))


def _named(text: str, catalogue: Catalogue, hints: Hints | None) -> Asked:
    reasons, wrong = _split(text, catalogue)
    if not reasons and not wrong:
        return Asked(faults=(f"{MUTE} names no reason, so it mutes nothing",))
    if hints is None:
        return Asked(reasons=reasons)
    return Asked(reasons=reasons, faults=tuple(_objections(wrong, catalogue, hints)))


@lru_cache(maxsize=4096)
def _split(text: str, catalogue: Catalogue) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the reasons that can be muted, and all other names."""
    names = dict.fromkeys(name for part in text.split(",") if (name := part.strip()))
    good = {name for name in names if name in catalogue and catalogue[name].mutable}
    return tuple(sorted(good)), tuple(name for name in names if name not in good)


def _objections(names: Sequence[str], catalogue: Catalogue, hints: Hints) -> Iterator[str]:
    for name in names[:_NAMED]:
        if name not in catalogue:
            yield f"no reason is called {_quoted(name)}{hints.of(name[:_SHOWN_BYTES])}"
        elif catalogue[name].says_ready:
            yield f"{name} is not a fault, so there is nothing to mute"
        else:
            yield f"{name} has no object that could carry a mute; see --disable-reasons"
    more = len(names) - _NAMED
    if more > 0:
        one = "1 more name is not the reason of a fault"
        yield one if more == 1 else f"{more} more names are not reasons of faults"


@lru_cache(maxsize=4096)
def _hint(name: str, catalogue: Catalogue) -> str:
    known = {reason.name.lower(): reason.name for reason in catalogue if reason.mutable}
    close = get_close_matches(name.lower(), known, n=1, cutoff=_SIMILAR)
    return f"; did you mean {known[close[0]]}?" if close else ""


def _quoted(text: str) -> str:
    return f'"{cut(clean(text), _SHOWN_BYTES)}"'
