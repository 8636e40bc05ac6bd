"""The table of `docs/stacks.md`: what is read, derived, told and required of each stack."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reporter.catalogue import reasons as c
from reporter.catalogue.parts import with_parts
from reporter.catalogue.resources import CLUSTER_WIDE, subjects_of
from reporter.model.objects import KubeObject
from reporter.model.reason import Reason
from reporter.model.resource import Resource
from reporter.model.stack import Stack


@dataclass(frozen=True, slots=True, kw_only=True)
class StackFacts:
    """What the page says of a stack beside what the catalogue knows.

    Attributes:
        project: whose stack it is.
        controllers: the reasons that tell of its controllers.
        derived: which status, or which objects, are worked out by the project's own rules.
        required: what the cluster must have for it.

    """

    project: str
    controllers: tuple[str, ...]
    derived: str
    required: str


FACTS: Final[Mapping[Stack, StackFacts]] = {
    Stack.KAITO: StackFacts(
        project="KAITO",
        controllers=(c.CLUSTER_KAITO,),
        derived="nothing: what is told rests on the objects as they are",
        required="Deployment `kaito-workspace`; namespaces with the label "
        "`productionstack.kaito.sh/managed-by=modelharness`",
    ),
    Stack.KTHENA: StackFacts(
        project="Kthena",
        controllers=(c.CLUSTER_KTHENA,),
        derived="the whole status, with `roleStatuses`; written if `--modelserving-status` says so",
        required="Deployment `kthena-controller-manager`; PodGroups only where Volcano schedules; "
        "to write `roleStatuses`, a CRD that has the field",
    ),
    Stack.OTTERSCALE: StackFacts(
        project="OtterScale",
        controllers=(c.CLUSTER_OTTERSCALE,),
        derived="the objects that should exist (images, tracing and tokens with "
        "`--otterscale-operator-flags`), and phase, counters and Ready of the status",
        required="Deployment `model-operator-controller-manager`; the kinds of Gateway API, its "
        "Inference Extension, Istio and the Prometheus operator as far as a ModelService uses them",
    ),
    Stack.KSERVE: StackFacts(
        project="KServe",
        controllers=(c.CLUSTER_KSERVE, c.CLUSTER_KNATIVE),
        derived="revisions, traffic and conditions of each component",
        required="Deployment `kserve-controller-manager`; in Knative mode Deployment `controller` "
        "of Knative Serving",
    ),
}


def stacks_page(text: str) -> str:
    """Return a page with its table rendered anew."""
    return with_parts(text, {"stacks": _table})


def _table() -> Iterator[str]:
    yield "| stack | is read, beside what all stacks share | is derived | reasons | is required |"
    yield "| --- | --- | --- | --- | --- |"
    for stack, facts in FACTS.items():
        subjects = ", ".join(dict.fromkeys(f"{each.kind}s" for each in subjects_of(stack)))
        name = f"**{facts.project}** (`{stack}`): {subjects}"
        cells = (name, _reads(stack), facts.derived, _reasons(stack, facts), facts.required)
        yield f"| {' | '.join(cells)} |"


def _reads(stack: Stack) -> str:
    return ", ".join(_read(each) for each in CLUSTER_WIDE if each.stack is stack)


def _read(resource: Resource[KubeObject]) -> str:
    label = f"label `{resource.label_selector}`" if resource.label_selector else ""
    mode = f"only with `{resource.stack}=on`" if resource.wide else ""
    said = ", ".join(each for each in (label, mode) if each)
    return f"`{resource}`" + (f" ({said})" if said else "")


def _reasons(stack: Stack, facts: StackFacts) -> str:
    kinds = {each.subject_kind for each in subjects_of(stack)}
    told = [each for each in c.REASONS if each.subject_kind in kinds]
    judged = [each for each in told if each.window_seconds is None]
    parts = {
        "of the cluster: ": _names(c.BY_NAME[name] for name in facts.controllers),
        "by priority: ": _names(each for each in judged if each.chain),
        "in addition: ": _names(each for each in judged if not each.chain and not each.says_ready),
        "": _from_metrics([each for each in told if each not in judged]),
        "when it works: ": _names(each for each in judged if each.says_ready),
    }
    return "; ".join(f"{title}{names}" for title, names in parts.items() if names)


def _from_metrics(reasons: Sequence[Reason]) -> str:
    """Name the first and the last: all stacks have the same, under the name of their subjects."""
    if not reasons:
        return ""
    first, last = reasons[0].name, reasons[-1].name
    return f"{len(reasons)} [from metrics](runtime.md), `{first}` to `{last}`"


def _names(reasons: Iterable[Reason]) -> str:
    return ", ".join(f"`{each.name}`" for each in reasons)


if __name__ == "__main__":
    sys.stdout.write(stacks_page(Path(sys.argv[1]).read_text()))
