"""Pages of `docs` that are rendered from the catalogue, as a whole or in parts."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from e2e.controllers.programs import PROGRAMS
from e2e.envtest.binaries import kubernetes_version
from reporter.catalogue import runtime as t
from reporter.catalogue.pickers import FROM_PAGES
from reporter.catalogue.render import by_subject
from reporter.catalogue.runtime import DOWNLOAD_SLOW, RUNTIME, of_kind
from reporter.catalogue.shared_parts import shared_parts
from reporter.catalogue.ways import WAYS
from reporter.model.catalogue import Catalogue
from reporter.model.objects import KubeObject
from reporter.model.reason import EventType, Reason
from reporter.model.resource import Resource
from reporter.model.stack import Controller, Need, StackRows
from reporter.model.subject import Layer
from reporter.stacks import DIALECTS

_HEAD: Final = """\
# Reasons

What each reason of an Event means, and what to do. Find it by its name; a reason of a model begins with the kind
(`inferencesetEPPNotReady`) and stands under the rest of its name. `status-reporter explain REASON` has more: what exactly raises
it and what does not, whether users get errors, commands, what it reads and what suppresses it. `KIND` stands for the kinds of
[dialects](dialects.md). Rendered by `make docs`.

A subject gets one Event, of the first reason of its priority chain that fires ([the chains](stacks.md#the-table)), and those
marked "in addition". Events are Warnings, unless marked Normal. The grace is `--startup-grace-seconds` unless a line says otherwise. To silence one:
[mute it](events.md#mutes-living-with-a-known-fault), or `--disable-reasons`. A Deployment is *down* when it is missing, scaled
to zero or has no available replica; *degraded* when it has fewer ready replicas than wanted and no rollout in progress, or a
rollout past its deadline.

"""

_OF_PARTS: Final = """\
What to do where no line says it: look at the Deployment that the message names, its pods and their logs. Where the part is not
wanted: `--components NAME=off`.

"""

_SAID_ONCE: Final = re.compile(
    r"Look at the Deployment that the message names, its pods and their logs\. ?"
    r"|Where it is not wanted: --components \S+=off\.$"
)
"""Sentences about all shared parts, which `_OF_PARTS` has once."""

_BY_KIND: Final = "`status-reporter explain` says it."
"""In place of what differs by kind of dialect."""


def reasons_page(catalogue: Catalogue) -> str:
    """Return `docs/reasons.md`: what each reason means and what to do; models' reasons by suffix."""
    parts = [_HEAD]
    models: dict[str, list[Reason]] = {}
    for title, reasons in by_subject(catalogue):
        if reasons[0].layer is Layer.DEPLOYMENT:
            for each in reasons:
                models.setdefault(each.heading, []).append(each)
            continue
        parts.append(f"## {title}\n\n")
        parts += [_OF_PARTS] if reasons[0].layer is Layer.CLUSTER else []
        parts += [f"### {each.name}\n\n{_about([each], catalogue)}" for each in reasons]
    models["Ready"] = models.pop("Ready")  # what says that all is well comes last
    judged = {name: each for name, each in models.items() if each[0].window_seconds is None}
    measured = {name: each for name, each in models.items() if name not in judged}
    parts.append("## modeldeployment: one model\n\n")
    parts += [_section(name, each, catalogue) for name, each in judged.items()]
    parts.append("## modeldeployment: one model, from its metrics\n\n")
    parts.append("Windows, thresholds and engines: [runtime.md](runtime.md).\n\n")
    parts += [_section(name, each, catalogue) for name, each in measured.items()]
    return "".join(parts).rstrip() + "\n"


def _section(suffix: str, reasons: Sequence[Reason], catalogue: Catalogue) -> str:
    """Return the reasons of all kinds with one suffix."""
    named = [f"`{each.name}`" for each in reasons if not _of_dialect(each, catalogue)]
    named += [f"`KIND{suffix}`"] if len(named) < len(reasons) else []
    return f"### {suffix}\n\n{', '.join(named)}\n\n{_about(reasons, catalogue)}"


def _of_dialect(reason: Reason, catalogue: Catalogue) -> bool:
    stack = catalogue.stack_of(reason.subject_kind)
    return stack is not None and stack.name == DIALECTS


def _about(reasons: Sequence[Reason], catalogue: Catalogue) -> str:
    """Return the description of reasons with one suffix; each different text once, with its kinds."""
    said = []
    for title, told in (
        ("", _meaning),
        ("**Grace**: ", _grace),
        ("**What to do**: ", lambda each: _SAID_ONCE.sub("", each.action)),
    ):
        texts = {each: of_any_kind(told(each), each, catalogue).strip() for each in reasons}
        described = [each for each in reasons if _of_dialect(each, catalogue)]
        if len({texts[each] for each in described}) > 1:
            texts |= dict.fromkeys(described, _BY_KIND)
        kinds_by_text: dict[str, list[Reason]] = {}
        for each, text in texts.items():
            kinds_by_text.setdefault("" if text == "Nothing." else text, []).append(each)
        lines = [
            (f"*{_kinds_of(same, catalogue)}*: " if len(kinds_by_text) > 1 else "") + escape(text)
            for text, same in kinds_by_text.items()
            if text
        ]
        said += [title + " ".join(lines)] if lines else []
    return "\n\n".join(said) + "\n\n"


def _meaning(reason: Reason) -> str:
    marks = "" if reason.chain or reason.says_ready else "In addition. "
    return f"{'' if reason.type is EventType.WARNING else 'Normal. '}{marks}{reason.summary}"


def of_any_kind(text: str, reason: Reason, catalogue: Catalogue) -> str:
    """Return text with `model` in place of its kind, so that equal texts are found."""
    if reason.layer is not Layer.DEPLOYMENT:
        return text
    kind = catalogue.of_subject(reason.subject_kind)[0].kind
    text = re.sub(rf"\b[Aa]n (?={kind}\b)", lambda word: f"{word[0][0]} ", text)
    text = re.sub(rf"\b{kind}(s?)\b", r"model\1", text)
    return re.sub(rf"(?<=describe ){reason.of}\b\S*", "KIND", text)


def _kinds_of(reasons: Sequence[Reason], catalogue: Catalogue) -> str:
    kinds = [str(each.of) for each in reasons if not _of_dialect(each, catalogue)]
    return ", ".join([*kinds, *(["dialects"] if len(kinds) < len(reasons) else [])])


def _grace(reason: Reason) -> str:
    own = "" if reason.grace_seconds is None else f"{reason.grace_seconds} s. "
    return "" if reason.window_seconds is not None else f"{own}{reason.grace_note}"


def escape(text: str) -> str:
    """Return text escaped for a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


_PART: Final = re.compile(
    r"(?P<begin><!-- rendered: (?P<name>[a-z]+) -->\n).*?(?P<end><!-- end -->)", re.DOTALL
)


def with_parts(text: str, parts: Mapping[str, Callable[[], Iterable[str]]]) -> str:
    """Return a page with its parts rendered; a part is the lines between two comments."""

    def rendered(part: re.Match[str]) -> str:
        lines = "".join(f"{line}\n" for line in parts[part["name"]]())
        return part["begin"] + lines + part["end"]

    return _PART.sub(rendered, text)


_E2E: Final = Path(__file__).resolve().parents[1] / "e2e"
_STORIES_OF_CLUSTERS: Final = (
    ("e2e-cluster", "one node of Kubernetes", "cluster/suite/cluster_[finr]*.py"),
    ("e2e-nodes", "two nodes of Kubernetes", "cluster/suite/nodes_*.py"),
    ("e2e-engines", "one node of Kubernetes", "cluster/suite/engines_*.py"),
    ("e2e-upgrade", "kube-apiserver", "upgrade_former.py"),
)
"""Targets of `make`, what is real there, and the files of tests."""


def compatibility_page(text: str, _catalogue: Catalogue) -> str:
    """Return a page with its table of stories rendered."""
    return with_parts(text, {"stories": _stories})


def _stories() -> Iterator[str]:
    yield "| `make` | what is real | what happens |"
    yield "| --- | --- | --- |"
    for program in PROGRAMS.values():
        if program.story:
            name, *told = _first_lines(_E2E / "controllers/suite" / program.story)
            what = "; ".join(told)
            yield f"| `e2e-controllers` | {name} {program.version} | {what} |"
    for target, real, files in _STORIES_OF_CLUSTERS:
        what = "; ".join(next(_first_lines(each)) for each in sorted(_E2E.glob(files)))
        yield f"| `{target}` | {real} {kubernetes_version()} | {what} |"


def _first_lines(suite: Path) -> Iterator[str]:
    """Yield the first line of a test file's docstring, then of each test's, without full stops."""
    tree = ast.parse(suite.read_text(encoding="utf-8"))
    tests = (
        each
        for each in tree.body
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
        and each.name.startswith("test_")
    )
    for each in (tree, *tests):
        yield (ast.get_docstring(each) or "").partition("\n")[0].rstrip(".")


def components_page(text: str, catalogue: Catalogue) -> str:
    """Return a page with its tables rendered."""
    rows = {"needs": partial(_needs, catalogue), "kinds": partial(_kinds, catalogue)}
    return with_parts(text, rows)


def _needs(catalogue: Catalogue) -> Iterator[str]:
    yield "| part | its reason | is expected when the cluster has any of |"
    yield "| --- | --- | --- |"
    for part in shared_parts(catalogue):
        reasons = ", ".join(dict.fromkeys(f"`{each.reason}`" for each in part.controllers))
        if needs := "<br>".join(each.words for each in _of(part.controllers)):
            yield f"| `{part.name}` | {reasons} | {needs} |"


def _kinds(catalogue: Catalogue) -> Iterator[str]:
    yield "| part | kind | is expected when the cluster has any of |"
    yield "| --- | --- | --- |"
    for part in shared_parts(catalogue):
        for kind in part.required:
            needs = [f"a Deployment of `{each}`" for each in kind.of]
            needs += [each.words for each in kind.needs]
            yield f"| `{part.name}` | `{kind.crd}` | {'<br>'.join(needs)} |"


def _of(rows: Iterable[Controller]) -> Iterable[Need]:
    return dict.fromkeys(need for each in rows for need in each.needs)


def runtime_page(text: str, catalogue: Catalogue) -> str:
    """Return a page with its tables rendered."""
    return with_parts(
        text,
        {
            "reasons": partial(_reasons, catalogue),
            "thresholds": partial(_thresholds, catalogue),
            "engines": partial(_engines, catalogue),
            "suppression": partial(_suppression, catalogue),
        },
    )


def _reasons(catalogue: Catalogue) -> Iterator[str]:
    yield "| reason | window | thresholds | means |"
    yield "| --- | --- | --- | --- |"
    for reason in FROM_PAGES.values():
        names = _names(reason)
        cells = (
            f"`{_name(reason, catalogue)}`",
            f"{reason.window_seconds} s",
            names,
            escape(reason.summary),
        )
        yield f"| {' | '.join(cells)} |"


def _name(reason: Reason, catalogue: Catalogue) -> str:
    return of_kind(reason.name, catalogue.metrics_kind)


def _names(reason: Reason) -> str:
    if reason.name == DOWNLOAD_SLOW:
        return "`--weight-download-min-mbps`"
    return ", ".join(f"`{each.name}`" for each in reason.thresholds)


def _thresholds(catalogue: Catalogue) -> Iterator[str]:
    yield "| threshold | default | of | meaning |"
    yield "| --- | --- | --- | --- |"
    for reason in RUNTIME:
        for each in reason.thresholds:
            name = _name(reason, catalogue)
            yield f"| `{each.name}` | {each.default:g} | `{name}` | {escape(each.meaning)} |"


YES: Final = "yes"
NO: Final = "no"

_FROM_0_5_10: Final = "0.5.10 and later"


@dataclass(frozen=True, slots=True)
class Engines:
    """Return whether an engine's page has what a reason needs: yes, no, or a condition.

    Of SGLang with `--enable-metrics`; without it there is no page.
    """

    vllm: str = YES
    rust: str = YES
    sglang: str = YES


ENGINES: Final[Mapping[str, Engines]] = {
    t.SCRAPE_FAILING: Engines(),
    t.METRICS_MISSING: Engines(),
    t.ENGINE_UNHEALTHY: Engines("no release up to 0.33, only builds that have the gauge", NO, NO),
    t.ENGINE_STALLED: Engines(sglang=_FROM_0_5_10),
    t.ENGINE_RESTARTING: Engines(),
    t.OUTPUT_CORRUPTED: Engines("with `VLLM_COMPUTE_NANS_IN_LOGITS=1`", NO, NO),
    t.KV_TRANSFER: Engines(
        "with NIXL, 3FS or Mooncake's store; Mooncake and UMBP in 0.33 and later",
        "Mooncake in 0.33 and later",
        _FROM_0_5_10,
    ),
    t.SCHEDULER_STUCK: Engines("where it tells why requests wait", "as at left", NO),
    t.KV_CACHE: Engines(),
    t.BACKLOG: Engines(),
    t.PREEMPTION: Engines(sglang=_FROM_0_5_10),
    t.ERROR_RATE: Engines(sglang="HTTP answers only, 0.5.10 and later"),
    t.REJECTED: Engines("0.32 and later, or behind KAITO's rate limit", "behind KAITO's", NO),
    t.LATENCY: Engines(),
}


def _engines(catalogue: Catalogue) -> Iterator[str]:
    yield "| reason | vLLM | vLLM, Rust front end | SGLang |"
    yield "| --- | --- | --- | --- |"
    for reason, row in ENGINES.items():
        if row.vllm == row.rust == row.sglang:
            continue
        name = of_kind(reason, catalogue.metrics_kind)
        yield f"| `{name}` | {row.vllm} | {row.rust} | {row.sglang} |"


def _suppression(catalogue: Catalogue) -> Iterator[str]:
    yield "| while this fires for a pod | these are not reported for it | because |"
    yield "| --- | --- | --- |"
    kind = catalogue.metrics_kind
    rows = [row for row in catalogue.pod_suppression if row.upstream.startswith(kind)]
    most = max((row.downstream for row in rows), key=len, default=())
    upstreams: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        rest = [each for each in most if each not in {*row.downstream, row.upstream}]
        named = [f"`{each.removeprefix(kind)}`" for each in row.downstream]
        if len(row.downstream) > 2 * len(rest):
            named = [f"all other reasons of the engine{' but' if rest else ''}"]
            named[0] += ",".join(f" `{each.removeprefix(kind)}`" for each in rest)
        upstreams.setdefault((", ".join(named), escape(row.why)), []).append(f"`{row.upstream}`")
    for (downstream, why), names in upstreams.items():
        yield f"| {', '.join(names)} | {downstream} | {why} |"


def stacks_page(text: str, catalogue: Catalogue) -> str:
    """Return a page with its tables rendered."""
    return with_parts(
        text,
        {
            "stacks": partial(_stacks, catalogue),
            "faults": partial(_faults, catalogue),
            "ways": _ways,
            "unsaid": partial(_unsaid, catalogue),
        },
    )


def _stacks(catalogue: Catalogue) -> Iterator[str]:
    yield "| stack | reads, beyond what all stacks share | derives | reasons | requires |"
    yield "| --- | --- | --- | --- | --- |"
    for stack in catalogue.stacks:
        subjects = ", ".join(
            dict.fromkeys(f"{each.kind}s" for each in (*stack.shares, *stack.subjects))
        )
        name = f"**{stack.project}** (`{stack.name}`): {subjects}"
        words = stack.words
        cells = (name, _read_by(stack), words.derived, _told_of(stack, catalogue), words.required)
        yield f"| {' | '.join(cells)} |"


_STANDS_FOR: Final = {
    "KAITO": "inferenceset",
    "Kthena": "modelserving",
    "OtterScale": "modelservice",
    "InferenceService": "inferenceservice",
    "LLMInferenceService": "llminferenceservice",
    "plain workloads": "workload",
    "dialects": "rayservice",
}
"""The kind that represents a stack; all kinds of dialects have the same reasons."""

_FAULTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "the spec cannot work",
        ("InvalidSpec", "ScalingMisconfigured", "Invalid", "Misconfigured"),
    ),
    ("its controller fails", ("ReconcileFailed", "NotObserved")),
    ("an object is missing", ("ObjectMissing", "GroupNotReady")),
    ("pods are refused", ("PodsNotCreated",)),
    ("pods find no room", ("GangNotSchedulable", "InfraProvisioningFailed")),
    ("the model cannot be fetched", ("StorageFailed",)),
    ("the server ends while it loads", ("ModelLoadFailed",)),
    ("pods are not Ready", ("ModelPodsNotReady", "RoleStuckCreating", "PodsNotReady")),
    ("a rollout stands still", ("RolloutStuck", "RolloutStalled")),
    ("the endpoint picker, the router", ("EPPNotReady", "RouterNotReady")),
    (
        "Gateway, route, pool",
        ("GatewayNotReady", "RouteNotReady", "PoolNotReady", "IngressNotReady"),
    ),
    ("the scaler", ("ScalingNotReady",)),
    ("the status contradicts its objects", ("StatusStale",)),
    ("not ready, and nothing says why", ("NotReady",)),
)
"""Faults that any model can have, and the suffixes of their reasons."""

_ELSEWHERE: Final[Mapping[str, Mapping[str, str]]] = {
    "inferenceset": {
        "its controller fails": "in ModelPodsNotReady",
        "an object is missing": "in ModelPodsNotReady",
        "pods are refused": "in ModelPodsNotReady",
        "pods find no room": "in ModelPodsNotReady",
        "the model cannot be fetched": "in ModelPodsNotReady",
        "the server ends while it loads": "in ModelPodsNotReady",
        "a rollout stands still": "none: Workspaces are replaced",
        "the scaler": "clusterKedaKaitoScalerNotReady",
        "the status contradicts its objects": "none: not compared",
        "not ready, and nothing says why": "in ModelPodsNotReady",
    },
    "modelserving": {
        "its controller fails": "none: its status has no error",
        "pods are refused": "in RoleStuckCreating",
        "pods find no room": "in RoleStuckCreating",
        "the model cannot be fetched": "in RoleStuckCreating",
        "the server ends while it loads": "in RoleStuckCreating",
        "the endpoint picker, the router": "none: not judged",
        "Gateway, route, pool": "none: not judged",
        "the scaler": "none: not judged",
        "the status contradicts its objects": "none",
        "not ready, and nothing says why": "in GroupNotReady",
    },
    "modelservice": {
        "pods are refused": "in PodsNotReady",
        "pods find no room": "in PodsNotReady",
        "the model cannot be fetched": "in PodsNotReady",
        "the server ends while it loads": "in PodsNotReady",
        "the scaler": "none: it has none",
        "not ready, and nothing says why": "none",
    },
    "inferenceservice": {
        "an object is missing": "in ComponentNotReady",
        "pods find no room": "in PodsNotReady",
        "the endpoint picker, the router": "none: it has none",
    },
    "llminferenceservice": {
        "pods find no room": "in PodsNotReady",
    },
    "workload": {
        "the spec cannot work": "none",
        "its controller fails": "none",
        "an object is missing": "none",
        "pods find no room": "in PodsNotReady",
        "the status contradicts its objects": "none",
        "not ready, and nothing says why": "in PodsNotReady",
    },
    "rayservice": {
        "pods find no room": "in PodsNotReady",
    },
}
"""Where else a fault is reported, or why a stack has no reason for it."""


def _faults(catalogue: Catalogue) -> Iterator[str]:
    yield f"| | {' | '.join(_STANDS_FOR)} |"
    yield f"| --- |{' --- |' * len(_STANDS_FOR)}"
    for fault, suffixes in _FAULTS:
        cells = []
        for kind in _STANDS_FOR.values():
            told = [each for each in suffixes if f"{kind}{each}" in catalogue]
            told += filter(None, [_ELSEWHERE.get(kind, {}).get(fault)])
            cells.append(", ".join(told))
        yield f"| {fault} | {' | '.join(cells)} |"


def _unsaid(catalogue: Catalogue) -> Iterator[str]:
    yield "| kind | not reported |"
    yield "| --- | --- |"
    for stack in catalogue.stacks:
        for kind, unsaid in stack.words.unsaid:
            yield f"| {kind} | {'; '.join(unsaid)} |"


def _read_by(stack: StackRows) -> str:
    return ", ".join(map(_read, stack.resources))


def _read(resource: Resource[KubeObject]) -> str:
    label = f"label `{resource.label_selector}`" if resource.label_selector else ""
    mode = f"only with `{resource.stack}=on`" if resource.wide else ""
    if resource.opt_in:
        mode = f"only with `--{resource.opt_in.replace('_', '-')}`"
    said = ", ".join(each for each in (label, mode) if each)
    return f"`{resource}`" + (f" ({said})" if said else "")


def _told_of(stack: StackRows, catalogue: Catalogue) -> str:
    told = stack.reasons
    judged = [each for each in told if each.window_seconds is None]
    kind = "KIND" if stack.name == DIALECTS else ""
    parts = {
        "of the cluster: ": _named(
            catalogue[each.reason] for each in stack.controllers if each.with_stack
        ),
        "by priority: ": _named((each for each in judged if each.chain), kind),
        "in addition: ": _named(
            (each for each in judged if not each.chain and not each.says_ready), kind
        ),
        "": _from_metrics([each for each in told if each not in judged]),
        "when it works: ": _named((each for each in judged if each.says_ready), kind),
    }
    return "; ".join(f"{title}{names}" for title, names in parts.items() if names)


def _from_metrics(reasons: Sequence[Reason]) -> str:
    """Return the first and the last name: all stacks have the same reasons, with their own prefix."""
    if not reasons:
        return ""
    first, last = reasons[0].name, reasons[-1].name
    return f"{len(reasons)} [from metrics](runtime.md), `{first}` to `{last}`"


def _named(reasons: Iterable[Reason], kind: str = "") -> str:
    """Return the names of reasons; with `kind`, those of many kinds once, as `kind` and suffix."""
    names = (f"{kind}{each.heading}" if kind else each.name for each in reasons)
    return ", ".join(f"`{each}`" for each in dict.fromkeys(names))


def _ways() -> Iterator[str]:
    yield "| Part | Requests without it | Clients get | Reasons | Source |"
    yield "| --- | --- | --- | --- | --- |"
    for each in WAYS:
        reasons = ", ".join(f"`{name}`" for name in each.reasons)
        yield f"| {each.part} | {each.without} | {each.clients} | {reasons} | {each.source} |"
