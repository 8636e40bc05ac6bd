"""The catalogue as text, printed by `status-reporter explain`."""

import textwrap
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Final

from reporter.catalogue import resources as r
from reporter.catalogue.reasons import CLUSTER_CRD_MISSING, CLUSTER_NODE, CLUSTER_STATUS_UNKNOWN
from reporter.catalogue.runtime import DOWNLOADS
from reporter.catalogue.shared_parts import missed_where
from reporter.model import subject as s
from reporter.model.catalogue import Catalogue
from reporter.model.commands import commands_for
from reporter.model.reason import EventType, Reason, SuppressionRow
from reporter.model.resource import AnyResource

_BY_WORD: Final[tuple[tuple[str, AnyResource], ...]] = (
    ("EPP", r.DEPLOYMENTS),
    ("Route", r.HTTPROUTES),
    ("Pool", r.INFERENCEPOOLS),
    ("Gateway", r.GATEWAYS),
    ("Node", r.NODES),
    ("Pods", r.PODS),
    ("Role", r.PODS),
    ("Storage", r.PODS),
    ("ModelLoad", r.PODS),
)  # fmt: skip
"""A word in a reason's name, and the kind of object at fault if the reason reads that kind."""

_OF_DOWNLOADS: Final = tuple(each.name for each in DOWNLOADS)

_IMPACT: Final[tuple[tuple[Callable[[Reason], bool], str], ...]] = (
    (lambda reason: reason.says_ready, "No: it says that all is well."),
    (lambda reason: reason.name == CLUSTER_STATUS_UNKNOWN,
        "Nobody knows: it is about what the reporter sees, and not about the stack."),
    (lambda reason: reason.type is EventType.NORMAL, "No: it is worth knowing, and no fault."),
    (lambda reason: reason.on_path,
        ("Yes while nothing of it works and a filter or policy of their Gateway asks it, unless "
        "that fails open.")),
    (lambda reason: reason.name == CLUSTER_NODE,
        ("Yes, where a model has no Ready pod on another node. A node that is cordoned or lacks "
        "devices only takes no new pods.")),
    (lambda reason: reason.layer is s.Layer.CLUSTER,
        ("Not by itself: models that run go on serving; none comes up, changes or scales "
        "meanwhile.")),
    (lambda reason: reason.layer is s.Layer.HARNESS,
        ("They may: requests to models of the namespace depend on it. The report counts those "
        "models.")),
    (lambda reason: reason.name.endswith(_OF_DOWNLOADS),
        ("Yes, where no other pod of the model serves: one that downloads its weights is not "
        "Ready.")),
    (lambda reason: not reason.chain,
        "Some may: the model serves, degraded; requests are slower, or a part of them fails."),
    (lambda _: True,
        "Yes, where the model is not serving; where it is degraded, what is left of it serves."),
)  # fmt: skip
"""Whether users get errors: the first row that applies to a reason counts."""

_NAMESPACE: Final = "namespace-of-it"
_NAME: Final = "name-of-it"
_PLURAL: Final = "plural-of-it"
_GROUP: Final = "group-of-it"


def users_get(reason: Reason) -> str:
    """Say whether users get errors while a reason fires; the report names the models."""
    return next(text for applies, text in _IMPACT if applies(reason))


def looks(reason: Reason, catalogue: Catalogue) -> tuple[str, ...]:
    if reason.says_ready:
        return ()
    ref = _at_fault(reason, catalogue)
    own = commands_for(ref) if ref is not None else ()
    room = f"<{ref.kind.lower()}>" if ref is not None else ""
    filled = (
        each.replace(_NAMESPACE, "<namespace>")
        .replace(_NAME, room)
        .replace(_PLURAL, "<plural>")
        .replace(_GROUP, "<group>")
        for each in own
    )
    page = "status-reporter status --pod <namespace>/<pod>"
    of_metrics = () if reason.window_seconds is None else (page,)
    return tuple(dict.fromkeys((*filled, *reason.look, *of_metrics)))


def switched_off(reason: Reason) -> str:
    if reason.says_ready:
        return f"--disable-reasons {reason.name}."
    muted = ", or for one object the annotation status-reporter.io/mute" if reason.mutable else ""
    return f"--disable-reasons {reason.name}{muted}. The report shows it all the same."


def _at_fault(reason: Reason, catalogue: Catalogue) -> s.ObjectRef | None:
    if reason.name == CLUSTER_CRD_MISSING:
        return s.crd_ref(f"{_PLURAL}.{_GROUP}")
    found = _resource(reason, catalogue)
    if found is None:
        return None
    return found.ref_named(_NAMESPACE if found.namespaced else "", _NAME)


def _resource(reason: Reason, catalogue: Catalogue) -> AnyResource | None:
    reads = reason.all_reads
    if reason.window_seconds is not None:
        return r.PODS
    if reason.layer is not s.Layer.DEPLOYMENT:
        return reason.reads[0] if reason.reads else None
    for word, resource in _BY_WORD:
        if word in reason.name and resource in reads:
            return resource
    return next(iter(catalogue.of_subject(reason.subject_kind)), None)


_WIDTH: Final = 100
_MARGIN: Final = 22
_UPPER_LAYERS: Final = {
    s.CLUSTER_KIND: "the shared control plane",
    s.NAMESPACE_KIND: "the entrance of one workload namespace",
}
_DECLARED: Final = "by you, in custom-components of the file of --config"


def reason_text(reason: Reason, catalogue: Catalogue) -> str:
    lines = [f"{reason.name} ({reason.layer}, {reason.type})", ""]
    for title, text in facts(reason, catalogue):
        lines += textwrap.wrap(
            text,
            _WIDTH,
            initial_indent=f"{title + ':':{_MARGIN}}",
            subsequent_indent=" " * _MARGIN,
            break_long_words=False,
            break_on_hyphens=False,
        )
    for number, command in enumerate(looks(reason, catalogue)):
        lines.append(f"{'' if number else 'Look:':{_MARGIN}}{command}")
    return "\n".join(lines) + "\n"


def reason_table(catalogue: Catalogue) -> str:
    width = max(len(reason.name) for reason in catalogue)
    lines: list[str] = []
    for title, reasons in by_subject(catalogue):
        lines += ["", title]
        for reason in reasons:
            mark = " (yours)" if _is_declared(reason, catalogue) else ""
            lines.append(f"  {reason.name:{width}}  {reason.summary}{mark}")
    return "\n".join(lines[1:]) + "\n"


def reason_document(reason: Reason, catalogue: Catalogue) -> dict[str, object]:
    return {
        "reason": reason.name,
        "layer": str(reason.layer),
        "type": str(reason.type),
        "declared": _is_declared(reason, catalogue),
        "summary": reason.summary,
        "trigger": reason.trigger,
        "notTrigger": reason.silent,
        "missedWhere": [
            {"what": name, "clusterHas": need.words, "because": need.evidence}
            for name, need in missed_where(reason, catalogue)
        ],
        "impact": users_get(reason),
        "action": reason.action,
        "commands": list(looks(reason, catalogue)),
        "inChain": reason.chain,
        "graceSeconds": reason.grace_seconds,
        "graceNote": reason.grace_note,
        "windowSeconds": reason.window_seconds,
        "thresholds": {each.name: each.default for each in reason.thresholds},
        "blocksReady": reason.blocks_ready,
        "reads": [str(resource) for resource in reason.reads],
        "alsoReads": {
            each.kind: [str(resource) for resource in reads] for each, reads in reason.also_reads
        },
        "suppressedBy": [
            {"reason": row.upstream, "crd": row.crd, "why": row.why}
            for row in catalogue.upstreams_of(reason.name)
        ],
        "suppressedInPodBy": [
            {"reason": row.upstream, "why": row.why}
            for row in catalogue.pod_upstreams_of(reason.name)
        ],
        "suppresses": [
            {"reasons": list(row.downstream), "crd": row.crd, "why": row.why}
            for row in _rows_of(reason, catalogue)
        ],
    }


def by_subject(catalogue: Catalogue) -> Iterator[tuple[str, list[Reason]]]:
    for kind, reasons in groupby(catalogue, key=lambda reason: reason.subject_kind):
        of_kind = list(reasons)
        yield f"{of_kind[0].layer}: {_about(kind, catalogue)}", of_kind


def _about(kind: s.SubjectKind, catalogue: Catalogue) -> str:
    stack = catalogue.stack_of(kind)
    if stack is None:
        return _UPPER_LAYERS[kind]
    resource, *_ = catalogue.of_subject(kind)
    return f"one {resource.kind} of {stack.project}"


def _rows_of(reason: Reason, catalogue: Catalogue) -> list[SuppressionRow]:
    rows = (row for row in catalogue.suppression if row.upstream == reason.name)
    return sorted(rows, key=lambda row: row.crd)


def _is_declared(reason: Reason, catalogue: Catalogue) -> bool:
    return any(each.component.reason == reason.name for each in catalogue.declared)


def facts(reason: Reason, catalogue: Catalogue) -> list[tuple[str, str]]:
    """Return titles with their text, the meaning first; titles without text are omitted."""
    upstreams = [
        f"{row.upstream}{f' of {row.crd}' if row.crd else ''}, because {row.why}"
        for row in catalogue.upstreams_of(reason.name)
    ]
    upstreams += [
        f"{row.upstream} of the same pod, because {row.why}"
        for row in catalogue.pod_upstreams_of(reason.name)
    ]
    downstream = [
        f"{f'({row.crd}) ' if row.crd else ''}{', '.join(row.downstream)}"
        for row in _rows_of(reason, catalogue)
    ]
    downstream += [
        f"(of the same pod) {', '.join(row.downstream)}"
        for row in catalogue.pod_suppression
        if row.upstream == reason.name
    ]
    titled = [
        ("Meaning", reason.summary),
        ("Raised when", reason.trigger),
        ("Not raised by", reason.silent),
        ("Expected when", _missed(reason, catalogue)),
        ("Do users get errors", users_get(reason)),
        ("What to do", reason.action),
        ("Grace", _grace(reason)),
        ("Window", f"{reason.window_seconds} s." if reason.window_seconds else ""),
        (
            "Thresholds",
            "; ".join(
                f"{each.name} ({each.default:g}): {each.meaning}" for each in reason.thresholds
            ),
        ),
        ("Suppressed by", "; ".join(upstreams)),
        ("Suppresses", "; ".join(downstream)),
        ("Reads", _reads(reason)),
        ("Blocks Ready", "yes" if reason.blocks_ready else "no"),
        ("In the chain", "yes" if reason.chain else "no, written in addition"),
        ("Switch off", switched_off(reason)),
        ("Declared", _DECLARED if _is_declared(reason, catalogue) else ""),
    ]
    if reason.says_ready:
        titled = [fact for fact in titled if fact[0] not in {"Blocks Ready", "In the chain"}]
    return [(title, text) for title, text in titled if text]


def _missed(reason: Reason, catalogue: Catalogue) -> str:
    rows = "; ".join(f"{name}: {need.words}" for name, need in missed_where(reason, catalogue))
    return f"In auto, where it was there before, or the cluster has: {rows}." if rows else ""


def _reads(reason: Reason) -> str:
    groups = [
        ("", reason.reads),
        *(
            (f"of {'an' if each.kind[0] in 'AEIOU' else 'a'} {each.kind} also ", reads)
            for each, reads in reason.also_reads
        ),
    ]
    return "; ".join(f"{about}{', '.join(map(str, reads))}" for about, reads in groups if reads)


_NO_GRACE: Final = "Fires at once:"
"""Start of a grace note that replaces the grace, because no fault of the reason waits."""


def _grace(reason: Reason) -> str:
    if reason.says_ready:
        return ""
    if reason.window_seconds is not None or reason.grace_note.startswith(_NO_GRACE):
        return reason.grace_note
    own = reason.grace_seconds
    base = f"{own} s." if own is not None else "The global one, --startup-grace-seconds."
    return f"{base} {reason.grace_note}".strip()
