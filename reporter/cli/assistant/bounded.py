"""Reports cut to what an assistant can read: what fires first, the rest counted, and nothing twice."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from reporter.model.subject import CLUSTER_KIND

Json: TypeAlias = dict[str, object]

FIRING: Final = "firing"
_WELL: Final = frozenset({"serving", "idle"})
_LEFT_OUT: Final = frozenset({"derived", "events", "ready", "findings", "subjects", "kind"})
"""Of a report: statuses and Events repeat what the findings say; the others are counted."""

_TITLES: Final = ("unknown", "skipped", "mutes", "muteFaults", "notLookedAt")


def summary(report: Mapping[str, object], *, limit: int, everything: bool) -> Json:
    """Return a report with at most `limit` entries in each list.

    Args:
        report: as `check -o json` prints it.
        limit: most entries in a list; how many more there are is said.
        everything: findings that are no cause too: pending, held, suppressed, muted, less important.

    """
    findings = _entries(report.get("findings"))
    shown = findings if everything else [each for each in findings if _fires(each)]
    subjects = _entries(report.get("subjects"))
    unwell = [each for each in subjects if each.get("state") not in _WELL]
    rest = {key: value for key, value in report.items() if key not in {*_LEFT_OUT, *_TITLES}}
    return {
        **rest,
        "counts": {
            "findings": dict(Counter(str(each.get("disposition")) for each in findings)),
            "subjects": dict(Counter(str(each.get("state")) for each in subjects)),
        },
        **_listed("findings", shown, limit),
        **_listed("subjectsNotWell", unwell, limit),
        **_titled(report, limit),
    }


def history(document: Mapping[str, object], namespace: str, *, limit: int) -> Json:
    """Return episodes, of one namespace and the cluster, or of all if it is empty."""
    episodes = [each for each in _entries(document.get("episodes")) if _is_of(each, namespace)]
    more = document.get("moreEpisodes")
    listed = _listed("episodes", episodes, limit)
    left = more if isinstance(more, int) else 0
    listed["moreEpisodes"] = left + max(0, len(episodes) - limit)
    return {**{key: document[key] for key in ("now", "note") if key in document}, **listed}


def reasons(documents: object) -> Json:
    """Return all reasons in short, of what `explain -o json` prints."""
    entries = _entries(documents)
    return {"reasons": [{"reason": each["reason"], "summary": each["summary"]} for each in entries]}


def narrowed(report: Mapping[str, object], namespace: str) -> Json | None:
    """Return what a report says of one namespace, and of the cluster, whose faults may be behind it.

    None if nothing in that namespace is looked at.
    """
    lists = {name: _entries(report.get(name)) for name in ("findings", "subjects", "ready")}
    places = {_place(each) for entries in lists.values() for each in entries}
    if namespace not in places:
        return None
    kept = {
        name: [each for each in entries if _is_of(each, namespace)]
        for name, entries in lists.items()
    }
    return {**report, **kept}


def _place(entry: Mapping[str, object]) -> str:
    return str(entry.get("subject")).partition("/")[2].partition("/")[0]


def _is_of(entry: Mapping[str, object], namespace: str) -> bool:
    return not namespace or entry.get("subject") == CLUSTER_KIND or _place(entry) == namespace


def _fires(finding: Mapping[str, object]) -> bool:
    return finding.get("disposition") == FIRING


def _titled(report: Mapping[str, object], limit: int) -> Json:
    found: Json = {}
    for name in _TITLES:
        entries = report.get(name)
        if isinstance(entries, list) and entries:
            found |= _listed(name, entries, limit)
    return found


def _listed(name: str, entries: list[Json], limit: int) -> Json:
    more = len(entries) - limit
    found: Json = {name: entries[:limit]}
    return found | {f"more{name[0].upper()}{name[1:]}": more} if more > 0 else found


def _entries(value: object) -> list[Json]:
    entries: Iterable[object] = value if isinstance(value, list) else ()
    return [each for each in entries if isinstance(each, dict)]
