"""What a pod demands of a node, one demand at a time, and which nodes do not meet it.

The scheduler stops at the first plugin that refuses a node and counts the node under that plugin,
so its text hides the other reasons. Here each node is checked against every demand that does not
depend on other pods, in the order of the default plugins (kube-scheduler,
apis/config/v1/default_plugins.go): NodeUnschedulable, TaintToleration, NodeAffinity,
NodeResourcesFit, VolumeBinding. Constraints that depend on other pods (free capacity, ports,
spread, affinity to pods) are not demands: for those the scheduler's text is used.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reporter.catalogue.resources import CLAIMS, VOLUMES
from reporter.model import objects as o
from reporter.model.text import clean, cut
from reporter.snapshot.snapshot import Snapshot

_STATE_TAINTS: Final = (
    "node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupted", "karpenter.sh/unregistered",
)  # fmt: skip
"""Key prefixes of taints that describe the state of a node rather than its purpose."""

_CORDON: Final = o.Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")

ACCELERATOR_LABELS: Final = (
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
    "nvidia.com/gpu.present", "cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator",
    "kubernetes.azure.com/accelerator",
)  # fmt: skip
"""Labels of nodes that have NVIDIA GPUs, even while no plugin offers them."""

_MAKERS: Final = (
    "karpenter.k8s.aws/instance-gpu-manufacturer", "karpenter.azure.com/sku-gpu-manufacturer",
)  # fmt: skip
"""Labels with the maker of a node's GPUs (karpenter-provider-aws and -azure, well-known labels)."""

_OF_VENDOR: Final = {
    "amd.com/": (
        "feature.node.kubernetes.io/amd-gpu", "feature.node.kubernetes.io/amd-vgpu",
        "feature.node.kubernetes.io/pci-1002.present",
    ),
    "gpu.intel.com/": ("intel.feature.node.kubernetes.io/gpu",),
    "habana.ai/": (
        "intel.feature.node.kubernetes.io/gaudi", "feature.node.kubernetes.io/pci-1da3.present",
    ),
    "google.com/tpu": ("cloud.google.com/gke-tpu-accelerator",),
}  # fmt: skip
"""Labels of nodes that have devices of other vendors, by the beginning of their resources.

Sources: ROCm/gpu-operator and intel-device-plugins-for-kubernetes (rules for Node Feature
Discovery), GKE.
"""

_OF_AWS: Final = re.compile(r"(?:inf|trn)\d")
"""Instance types with Neuron devices; EKS nodes have no other label for these."""

PRESSURES: Final = ("DiskPressure", "MemoryPressure", "PIDPressure")
"""Conditions of a node that evicts pods and accepts no new ones."""


class Plugin(StrEnum):
    """The scheduler's filter that refuses a node; the value is its text in the message."""

    CORDON = "node(s) were unschedulable"
    TAINT = "node(s) had untolerated taint"
    LABEL = "node(s) didn't match Pod's node affinity/selector"
    RESOURCE = "Insufficient "
    VOLUME = "node(s) didn't match PersistentVolume's node affinity"


@dataclass(frozen=True, slots=True)
class Demand:
    """One condition that a node must meet for a pod.

    `what` is a resource, of which the pod requests the amount `asks`, a label with its value, or
    the name of a volume. `state` marks a demand about a state of the node, which may pass. All
    `requirements` must match, and one of the `terms` of an affinity.
    """

    plugin: Plugin
    what: str = ""
    asks: float = 0.0
    state: bool = False
    requirements: tuple[o.SelectorRequirement, ...] = ()
    terms: tuple[o.NodeSelectorTerm, ...] | None = None
    tolerations: tuple[o.Toleration, ...] = ()

    @property
    def keys(self) -> list[str]:
        of_terms = (e for t in self.terms or () for e in t.match_expressions or ())
        return list(dict.fromkeys(each.key for each in (*self.requirements, *of_terms)))

    def is_met(self, node: o.Node) -> bool:
        match self.plugin:
            case Plugin.CORDON:
                return not node.spec.unschedulable or _tolerated(_CORDON, self.tolerations)
            case Plugin.TAINT:
                return not self.taints(node) and not (self.state and _is_unready(node, self))
            case Plugin.RESOURCE:
                return offered(node, self.what) >= self.asks
            case _:
                return selects(self.terms, node) and all(_meets(node, e) for e in self.requirements)

    def is_state(self, node: o.Node) -> bool:
        if self.plugin is not Plugin.RESOURCE:
            return self.state
        return o.is_device(self.what) and (
            self.asks <= o.amount((node.status.capacity or {}).get(self.what))
            or (not offered(node, self.what) and has_accelerator(node, self.what))
        )

    def taints(self, node: o.Node) -> list[o.Taint]:
        return [
            each
            for each in node.spec.taints or ()
            if each.effect in ("NoSchedule", "NoExecute")
            and each.key.startswith(_STATE_TAINTS) == self.state
            and each.key != _CORDON.key
            and not _tolerated(each, self.tolerations)
        ]

    def why(self, node: o.Node) -> str:
        """Return why the node does not fit, to follow its name: `offers no nvidia.com/gpu`."""
        match self.plugin:
            case Plugin.CORDON:
                return "is cordoned"
            case Plugin.TAINT if self.state:
                return _state_of(node, self.taints(node))
            case Plugin.TAINT:
                return f"has {written_taints(self.taints(node))}, which it does not tolerate"
            case Plugin.RESOURCE:
                asks = f", and it asks for {shown(self.what, self.asks)}"
                return _offer(node, self.what) + (asks if offered(node, self.what) else "")
            case Plugin.VOLUME:
                return f"cannot reach its volume {self.what}: {written(self.terms or ())}"
            case _:
                return _labels_of(node, self)


MOST_ASKED: Final = 100
"""Maximum tolerations, labels, resources and parts of an affinity that are checked on each node."""


def asks_too_much(spec: o.PodSpec | o.DaemonTemplateSpec) -> bool:
    """Tell whether a pod has more demands than can be checked on all nodes, whoever wrote them."""
    terms = _node_terms(spec) or ()
    asked = (
        *(spec.tolerations, spec.node_selector, terms),
        *([spec.demand] if isinstance(spec, o.PodSpec) else []),
        *(each.match_expressions for each in terms[:MOST_ASKED]),
        *(each.match_fields for each in terms[:MOST_ASKED]),
    )
    return sum(len(each or ()) for each in asked) > MOST_ASKED


def _node_terms(spec: o.PodSpec | o.DaemonTemplateSpec) -> tuple[o.NodeSelectorTerm, ...] | None:
    affinity = spec.affinity and spec.affinity.node_affinity
    return (affinity.required.node_selector_terms or ()) if affinity and affinity.required else None


def demands_of(pod: o.Pod, snapshot: Snapshot) -> list[Demand]:
    """Return the demands of a pod, in the order in which the scheduler checks them."""
    tolerations = pod.spec.tolerations or ()
    asked = ((name, value) for name, value in sorted(pod.spec.demand.items()) if value > 0)
    return [
        Demand(Plugin.CORDON, state=True, tolerations=tolerations),
        Demand(Plugin.TAINT, state=True, tolerations=tolerations),
        Demand(Plugin.TAINT, tolerations=tolerations),
        *labels_asked(pod.spec),
        *(Demand(Plugin.RESOURCE, name, asks=value) for name, value in asked),
        *_volumes(pod, snapshot),
    ]


def demands_of_daemon(spec: o.DaemonTemplateSpec) -> list[Demand]:
    """Return the demands for which a DaemonSet's controller makes a pod for a node, or none.

    It tolerates taints that describe a state, so these are left out (kubernetes,
    pkg/controller/daemon/util, AddOrUpdateDaemonPodTolerations).
    """
    return [Demand(Plugin.TAINT, tolerations=spec.tolerations or ()), *labels_asked(spec)]


def labels_asked(spec: o.PodSpec | o.DaemonTemplateSpec) -> Iterator[Demand]:
    """Yield the labels that a pod asks of its node, by nodeSelector and required affinity."""
    for key, value in sorted((spec.node_selector or {}).items()):
        requirement = o.SelectorRequirement(key, "In", frozenset((value,)))
        yield Demand(Plugin.LABEL, f"{clean(key)}={clean(value)}", requirements=(requirement,))
    terms = _node_terms(spec)
    if terms is None:
        return
    if len(terms) == 1 and not terms[0].match_fields:
        for each in terms[0].match_expressions or ():
            yield Demand(Plugin.LABEL, _requirement(each), requirements=(each,))
        if terms[0].match_expressions:
            return
    yield Demand(Plugin.LABEL, written(terms), terms=terms)


def named_nodes(pod: o.Pod) -> Demand | None:
    """Return the demand for nodes by name, as pods of DaemonSets have it, or None.

    The scheduler drops all other nodes before it filters (NodeAffinity, PreFilter).
    """
    terms = _node_terms(pod.spec) or ()
    if not terms or not all(each.match_fields for each in terms):
        return None
    names = tuple(o.NodeSelectorTerm(match_fields=each.match_fields) for each in terms)
    return Demand(Plugin.LABEL, written(names), terms=names)


def claims_of(pod: o.Pod, snapshot: Snapshot) -> Iterator[o.PersistentVolumeClaim]:
    found = (snapshot[CLAIMS].get(pod.namespace, name) for name in pod.claims)
    yield from (each for each in found if each is not None)


def bound_claims(pod: o.Pod, snapshot: Snapshot) -> Iterator[tuple[o.PersistentVolumeClaim, str]]:
    """Yield the bound claims of a pod, each with the name of its volume."""
    for claim in claims_of(pod, snapshot):
        if claim.spec.volume_name:
            yield claim, claim.spec.volume_name


def _volumes(pod: o.Pod, snapshot: Snapshot) -> Iterator[Demand]:
    for claim, name in bound_claims(pod, snapshot):
        volume = snapshot[VOLUMES].get("", name)
        affinity = volume.spec.node_affinity if volume else None
        wanted = affinity.required if affinity else None
        if volume and wanted and wanted.node_selector_terms:
            what = f"{clean(volume.name)} (claim {clean(claim.name)})"
            yield Demand(Plugin.VOLUME, what, terms=wanted.node_selector_terms)


def _tolerated(taint: o.Taint, tolerations: Iterable[o.Toleration]) -> bool:
    """True if one of the tolerations matches the taint (k8s.io/api, core/v1/toleration.go)."""
    return any(
        each.effect in ("", taint.effect)
        and each.key in ("", taint.key)
        and (
            each.operator == "Exists"
            or (each.operator in ("", "Equal") and each.key != "" and each.value == taint.value)
        )
        for each in tolerations
    )


def is_ready(node: o.Node) -> bool:
    ready = node.status.condition("Ready")
    return ready is None or ready.status == "True"


def _is_unready(node: o.Node, demand: Demand) -> bool:
    state = "unreachable" if node.status.condition("Ready", "Unknown") else "not-ready"
    lost = o.Taint(f"node.kubernetes.io/{state}", "", "NoSchedule")
    return not is_ready(node) and not _tolerated(lost, demand.tolerations)


def selects(terms: tuple[o.NodeSelectorTerm, ...] | None, node: o.Node) -> bool:
    """True if one of the terms selects a node; an empty term selects none, None selects any."""
    if terms is None:
        return True
    return any(
        bool(each.match_expressions or each.match_fields)
        and all(_meets(node, one) for one in each.match_expressions or ())
        and all(
            one.key == "metadata.name" and _holds(one, node.name) for one in each.match_fields or ()
        )
        for each in terms
    )


def _meets(node: o.Node, requirement: o.SelectorRequirement) -> bool:
    return _holds(requirement, node.metadata.label(requirement.key))


def _holds(requirement: o.SelectorRequirement, value: str | None) -> bool:
    if requirement.operator not in ("Gt", "Lt"):
        return requirement.is_met(value)
    one, other = _whole(value or ""), _whole("".join(requirement.values or ()))
    if one is None or other is None:
        return False
    return one > other if requirement.operator == "Gt" else one < other


def _whole(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?\d{1,19}", text, re.ASCII) else None


def offered(node: o.Node, resource: str) -> float:
    """Return the allocatable amount of a resource on a node."""
    return o.amount((node.status.allocatable or {}).get(resource))


def has_accelerator(node: o.Node, resource: str) -> bool:
    """True if the node's capacity or a label says that it has this resource."""
    labels = node.metadata.labels or {}
    if resource.startswith("aws.amazon.com/neuron") and _OF_AWS.match(
        labels.get("node.kubernetes.io/instance-type", "")
    ):
        return True
    for begins, keys in _OF_VENDOR.items():
        if resource.startswith(begins) and any(labels.get(e, "false") != "false" for e in keys):
            return True
    labelled = any(labels.get(each, "false") != "false" for each in ACCELERATOR_LABELS) or any(
        labels.get(each) == "nvidia" for each in _MAKERS
    )
    return resource in (node.status.capacity or {}) or (labelled and resource.startswith("nvidia."))


def written_taints(taints: Iterable[o.Taint]) -> str:
    """Return taints in words: `the taint sku=gpu:NoSchedule`."""
    found = sorted(
        {f"{clean(t.key)}{f'={clean(t.value)}' if t.value else ''}:{t.effect}" for t in taints}
    )
    return f"the taint{'s' if len(found) > 1 else ''} {some(found)}"


def _state_of(node: o.Node, taints: list[o.Taint]) -> str:
    ready = node.status.condition("Ready")
    if ready is not None and ready.status != "True":
        return "is NotReady" if ready.status == "False" else "does not answer"
    for name in PRESSURES:
        if node.status.condition(name, "True"):
            return f"is under {name}"
    return f"has {written_taints(taints)}"


def _offer(node: o.Node, resource: str) -> str:
    has = offered(node, resource)
    capacity = o.amount((node.status.capacity or {}).get(resource))
    if not has and capacity:
        return f"offers none of its {shown(resource, capacity)} {resource}"
    if o.is_device(resource) and has < capacity:
        return f"offers {shown(resource, has)} of its {shown(resource, capacity)} {resource}"
    return f"offers {shown(resource, has) if has else 'no'} {resource}"


def _labels_of(node: o.Node, demand: Demand) -> str:
    has = ((key, node.metadata.label(key)) for key in demand.keys)
    found = some(f"{clean(key)}={clean(value)}" for key, value in has if value is not None)
    what = demand.what
    return f"has {found}, and it asks for {what}" if found else f"lacks the label {what}"


def written(terms: Iterable[o.NodeSelectorTerm]) -> str:
    """Return terms of an affinity in words: `zone=a or zone=b`."""
    each_term = (
        " and ".join(map(_requirement, (*(t.match_expressions or ()), *(t.match_fields or ()))))
        for t in terms
    )
    return cut(" or ".join(each for each in each_term if each) or "nothing", 200)


def selected(selector: o.LabelSelector | None) -> str:
    """Return a selector in words: `role=leader and the label group`."""
    if selector is None:
        return "no pods"
    labels = (f"{clean(k)}={clean(v)}" for k, v in sorted((selector.match_labels or {}).items()))
    parts = (*labels, *map(_requirement, selector.match_expressions or ()))
    return cut(" and ".join(parts) or "all pods", 200)


def _requirement(each: o.SelectorRequirement) -> str:
    key = clean(each.key)
    values = ", ".join(clean(one) for one in sorted(each.values or ())[:4])
    one = len(each.values or ()) == 1
    return {
        "In": f"{key}={values}" if one else f"{key} in ({values})",
        "NotIn": f"{key} not in ({values})",
        "Exists": f"the label {key}",
        "DoesNotExist": f"no label {key}",
        "Gt": f"{key} > {values}",
        "Lt": f"{key} < {values}",
    }.get(each.operator, key)


def shown(resource: str, value: float) -> str:
    """Return an amount of a resource in readable form: `4`, `64Gi`, `500m`."""
    if resource in ("memory", "ephemeral-storage", "storage") or resource.startswith("hugepages-"):
        gib = value / 2**30
        return f"{gib:.4g}Gi" if gib >= 1 else f"{math.ceil(value / 2**20)}Mi"
    return f"{value:.4g}" if value == int(value) or value > 1 else f"{round(value * 1000)}m"


MOST_NAMED: Final = 3


def some(names: Iterable[str], most: int = MOST_NAMED, *, count: int | None = None) -> str:
    """Return the first names and the number of the rest: `gpu-1, gpu-2, gpu-3 and 4 more`.

    `count` is the number of all, where `names` are only the first.
    """
    every = list(names)
    found = [clean(each) for each in every[:most]]
    more = (len(every) if count is None else count) - len(found)
    if more > 0:
        return f"{', '.join(found)} and {more} more"
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


_COUNTED: Final = re.compile(
    r"0/(?P<nodes>\d{1,9}) nodes are available: (?P<reasons>.*)", re.DOTALL
)
_ENTRY: Final = re.compile(r"(?P<count>\d{1,6}) (?P<text>[^,]+)")
_KAI: Final = re.compile(r"no nodes with enough resources were found: (?P<reasons>.*)", re.DOTALL)
_OF_KAI: Final = re.compile(r"(?P<count>\d{1,6}) (?P<text>node\(s\) [^\n]+?)\.*\s*(?:\n|$)")

_SYNONYMS: Final = {
    "node(s) had volume node affinity conflict": str(Plugin.VOLUME),
    "node(s) didn't satisfy plugin(s) [NodeAffinity]": str(Plugin.LABEL),
    "node(s) didn't match node selector": str(Plugin.LABEL),
    "node(s) didn't match Pod's node affinity": str(Plugin.LABEL),
    "node(s) had untolerated taint(s)": str(Plugin.TAINT),
}
"""Texts of older schedulers and of KAI's, and the text for nodes that PreFilter dropped by name."""

_LACKS: Final = "node(s) didn't have enough resources: "
_NAMES: Final = {"GPUs": "nvidia.com/gpu", "CPU cores": "cpu"}
"""The names of resources that KAI's scheduler writes (pkg/scheduler/api/common_info)."""


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """The scheduler's counts: all nodes, and how many it refused for each reason."""

    nodes: int
    by_text: Mapping[str, int]

    def of(self, text: str) -> int:
        """Return how many nodes it refused with texts that start with `text`."""
        return sum(n for each, n in self.by_text.items() if each.startswith(text))

    def lacking(self, resource: str) -> int:
        return self.by_text.get(f"Insufficient {resource}", 0)

    @property
    def others(self) -> list[str]:
        """The texts of reasons that are not evaluated here."""
        known = tuple(Plugin)
        return [each for each in self.by_text if not each.startswith((*known, "Too many pods"))]


def counts_of(message: str | None) -> NodeCounts | None:
    """Parse the counts in the scheduler's message about a pod; None if it has none."""
    found = _COUNTED.search(message or "")
    if found is None:
        return _counts_of_kai(message or "")
    reasons = re.split(r"\.(?: |$)", found["reasons"], maxsplit=1)[0]
    return NodeCounts(int(found["nodes"]), counted(reasons))


def counted(reasons: str) -> Counter[str]:
    """Parse reasons with their counts: `2 Insufficient cpu, 1 node(s) were unschedulable`."""
    texts: Counter[str] = Counter()
    for each in _ENTRY.finditer(reasons):
        text = each["text"].strip().replace("had taint {", "had untolerated taint {")
        texts[_SYNONYMS.get(text, text)] += int(each["count"])
    return texts


def _counts_of_kai(message: str) -> NodeCounts | None:
    """Parse what KAI's scheduler counts; it may count a node once for each of its reasons."""
    found = _KAI.search(message)
    texts: Counter[str] = Counter()
    for each in _OF_KAI.finditer(found["reasons"] if found else ""):
        text = each["text"]
        if text.startswith(_LACKS):
            lacks = text.removeprefix(_LACKS)
            text = f"{Plugin.RESOURCE}{_NAMES.get(lacks, lacks)}"
        texts[_SYNONYMS.get(text, text)] += int(each["count"])
    return NodeCounts(texts.total(), texts) if texts else None
