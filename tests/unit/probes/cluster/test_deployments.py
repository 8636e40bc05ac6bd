"""Shared Deployments and controllers of stacks: what is judged, where it is, what governs."""

from dataclasses import replace
from functools import partial
from itertools import product

import pytest

from reporter.catalogue.reasons import CLUSTER_CRD_MISSING, CLUSTER_NODE, CLUSTER_SHARED
from reporter.catalogue.resources import DEPLOYMENTS, NAMESPACES
from reporter.model.resource import Seen
from reporter.probes.cluster import evaluate_cluster
from reporter.probes.cluster.parts import probe_component
from reporter.setting_types import PartMode, StackMode
from reporter.stacks.settings import FullEvaluationSettings
from reporter.workload.components import components
from tests.tables import SUPPRESSION, Stack, rows, subjects_of
from tests.unit.probes.asking import component_scope, scope
from tests.unit.probes.building import (
    ALL_CRDS,
    ALL_ON,
    CREATED_AT,
    FORBIDDEN,
    SHARED,
    SINCE_AT,
    deployment,
    healthy_cluster,
    namespace,
    snapshot_of,
)

DEFAULTS = FullEvaluationSettings(components=ALL_ON)

COMPONENTS = {each.deployment: each for each in components(DEFAULTS) if each.mode is PartMode.ON}
EVERY = {each.deployment for each in components(FullEvaluationSettings())}
NAMES = [name for _, name in SHARED]
PLACES = {name: place for place, name in SHARED}


def probe(*docs, settings=DEFAULTS, **options):
    snapshot = snapshot_of(*docs, **options)
    return [
        finding
        for component in components(settings)
        for finding in probe_component(component_scope(snapshot, settings, component))
    ]


def only(*docs, **options):
    (finding,) = probe(*docs, **options)
    return finding


@rows(
    ("state", "text", "since", "created"),
    {
        "down": ({"ready": 0}, "down: no pods, 0/1 ready", SINCE_AT, CREATED_AT),
        "missing, in the first candidate namespace that exists": (None, "down: missing", None, None),
        "degraded, which keeps no status from being written": ({"wanted": 2}, "degraded: no pods, 1/2 ready", None, CREATED_AT),
    },
)  # fmt: skip
@pytest.mark.parametrize("name", NAMES)
def test_each_component(name, state, text, *, since, created):
    """It raises its reason about its namespace, and governs while it is down."""
    place, component = PLACES[name], COMPONENTS[name]
    docs = [] if state is None else [deployment(place, name, **state)]
    finding = only(*healthy_cluster(name), *docs)
    assert finding.message.partition(" (looked")[0] == f"Deployment {place}/{name} is {text}"
    assert (finding.reason, str(finding.subject)) == (component.reason, "cluster")
    assert str(finding.related) == f"Deployment {place}/{name}"
    assert (str(finding.involved), finding.involved.uid) == (f"Namespace {place}", f"uid-{place}")
    assert finding.governs is (component.row.governs and text.startswith("down"))
    assert (finding.transition, finding.created) == (since, created)
    assert (finding.exempt, finding.budget) == (False, None)
    assert finding.cause == ("missing" if state is None else "no pods")


def test_both_deployments_of_a_reason_are_judged():
    names = ("keda-operator", "keda-operator-metrics-apiserver")
    found = probe(*healthy_cluster(*names), *(deployment("keda", each, ready=0) for each in names))
    assert [each.related.name for each in found] == list(names)
    assert len({each.key for each in found}) == 1


def test_the_operator_of_api_keys_is_worse_than_its_sibling():
    """Of two faults under one key, the one that suppresses is reported."""
    found = probe(
        *healthy_cluster("apikey-operator", "apikey-authz"),
        deployment("llm-gateway-auth", "apikey-operator", ready=0),
        deployment("llm-gateway-auth", "apikey-authz", ready=0),
    )
    operator, service = found
    assert (operator.related.name, service.related.name) == ("apikey-operator", "apikey-authz")
    assert operator.severity > service.severity


def test_where_a_part_was_seen_counts_before_another_of_its_name():
    """A tenant in an unused candidate namespace cannot hide an outage; both places are named."""
    name = "body-based-router"
    component = COMPONENTS[name]
    place, other = PLACES[name], next(each for each in component.namespaces if each != PLACES[name])
    there = {component.key: DEPLOYMENTS.ref_named(place, name)}
    fake, real = deployment(other, name), deployment(place, name, ready=0)
    snapshot = snapshot_of(*healthy_cluster(name), real, fake)
    scope = component_scope(snapshot, DEFAULTS, component)
    (finding,) = probe_component(replace(scope, earlier=Seen(there)))
    assert finding.related.namespace == place
    assert (
        f"another one of its name, which does not count, is in namespace {other}" in finding.message
    )


def test_a_component_governs_where_a_row_of_suppression_rests_on_it():
    """Otherwise it would explain what no row says, or a row would never apply."""
    settings = FullEvaluationSettings(
        stacks=dict.fromkeys(Stack, "on"),
        node_provisioner_name="karpenter",
        node_provisioner_namespace=("karpenter",),
    )
    governing = {each.reason for each in components(settings) if each.row.governs}
    of_no_component = {CLUSTER_CRD_MISSING, CLUSTER_NODE, CLUSTER_SHARED}
    assert governing == {row.upstream for row in SUPPRESSION} - of_no_component


def switched_off(**given):
    """The components that a setting switches off, and whether all others are missing."""
    settings = FullEvaluationSettings(**given)
    off = EVERY - {each.deployment for each in components(settings)}
    assert probe(*healthy_cluster(*off), settings=settings) == []
    return off


def test_a_component_that_is_switched_off_is_not_missed():
    """By its name or by its namespaces, whichever is empty, or as a part; each can be."""
    switches = {
        field: switched_off(**{field: () if field.endswith("_namespace") else ""})
        for field, info in FullEvaluationSettings.model_fields.items()
        if info.default
        and field.endswith(("_deployment", "_namespace"))
        and field != "release_namespace"
    }
    switches |= {
        part: switched_off(components={part: "off"})
        for part in FullEvaluationSettings.placed_parts()
    }
    assert [field for field, off in switches.items() if not off] == []
    assert set().union(*switches.values()) == EVERY
    assert len(probe(*healthy_cluster(*NAMES))) == len(NAMES)


NO_KAITO, NO_ISTIOD = healthy_cluster("kaito-workspace"), healthy_cluster("istiod")
NO_KEYS = healthy_cluster("apikey-operator", "apikey-authz")
DUMPED = {place for place, _ in SHARED}
UNREAD = {NAMESPACES: FORBIDDEN}
TWO_PLACES = FullEvaluationSettings(kaito_namespace=("a", "b"))
AZURE = FullEvaluationSettings(gateway_auth_deployment="", azure_authz_deployment="azure-authz")
AZURE_APART = FullEvaluationSettings(
    azure_authz_deployment="azure-authz", azure_authz_namespace=("azure",)
)
ADD_ON = [*NO_ISTIOD, namespace("aks-istio-system")]


def istiod(revision, ready=1, wanted=1, place="istio-system"):
    return deployment(place, f"istiod-{revision}", ready=ready, wanted=wanted)


@rows(
    ("docs", "options", "told"),
    {
        "missing needs a look at every candidate": (NO_KAITO, {"covered": DUMPED, "unknown": UNREAD}, {}),
        "all were looked at": (
            NO_KAITO, {"covered": DUMPED | {"kaito-workspace"}, "unknown": UNREAD},
            {"Deployment kaito-workspace/kaito-workspace": ("missing", True)},
        ),
        "a candidate that is no namespace needs no look": (NO_KAITO, {"covered": DUMPED}, {"Deployment kaito-system/kaito-workspace": ("missing", True)}),
        "all places are named": (NO_KAITO, {"settings": TWO_PLACES}, {"Deployment a/kaito-workspace": ("is down: missing (looked in a, b)", True)}),
        "a fault that is seen although namespaces cannot be read": (
            [*NO_ISTIOD, deployment("istio-system", "istiod", ready=0)], {"unknown": UNREAD}, {"Deployment istio-system/istiod": ("is down", True)},
        ),
        "without API keys their operator is not missed: Azure authentication has neither": (
            NO_KEYS, {"settings": AZURE}, {"Deployment llm-gateway-auth/azure-authz": ("missing", False)},
        ),
        "Azure authentication alone": ([*NO_KEYS, deployment("llm-gateway-auth", "azure-authz")], {"settings": AZURE}, {}),
        "Azure authentication in a namespace of its own": (
            [*healthy_cluster(), namespace("azure")], {"settings": AZURE_APART}, {"Deployment azure/azure-authz": ("missing", False)},
        ),
        "istiod by revision, as the AKS add-on installs it": ([*ADD_ON, istiod("asm-1-27", place="aks-istio-system")], {}, {}),
        "it is down": (
            [*ADD_ON, istiod("asm-1-27", ready=0, place="aks-istio-system")], {}, {"Deployment aks-istio-system/istiod-asm-1-27": ("is down: ", True)},
        ),
        "an old revision at zero beside the new one": ([*healthy_cluster(), istiod("1-27", ready=0, wanted=0)], {}, {}),
        "one revision down beside another does not govern": (
            [*healthy_cluster(), istiod("1-29", ready=0)], {}, {"Deployment istio-system/istiod-1-29": (" is down: ", False)},
        ),
        "no revision available governs": (
            [*NO_ISTIOD, istiod("1-28", ready=0, wanted=0), istiod("1-29", ready=0)], {},
            {"Deployment istio-system/istiod-1-28": ("", True), "Deployment istio-system/istiod-1-29": ("", True)},
        ),
        "others have no revisions: a name that only begins the same is another one": (
            [*healthy_cluster(), deployment("kaito-system", "kaito-workspace-webhook", ready=0)], {}, {},
        ),
    },
)  # fmt: skip
def test_where_a_part_is_and_what_it_governs(docs, options, told):
    found = {str(each.related): each for each in probe(*docs, **options)}
    assert found.keys() == told.keys()
    for name, (text, governs) in told.items():
        assert (text in found[name].message, found[name].governs) == (True, governs)
        if options.get("unknown") and "istiod" in name:
            assert (str(found[name].involved), found[name].involved.uid) == ("Namespace istio-system", "")  # fmt: skip


def test_of_two_the_older_one_counts_where_nothing_is_remembered():
    """A tenant in an unused candidate namespace cannot hide an outage from a new reporter."""
    name = "body-based-router"
    place = PLACES[name]
    other = next(each for each in COMPONENTS[name].namespaces if each != place)
    younger = {"metadata": {"creationTimestamp": "2026-11-20T11:00:00Z"}}
    without = healthy_cluster(name)
    finding = only(*without, deployment(place, name, ready=0), deployment(other, name, younger))
    assert finding.related.namespace == place
    assert f"which does not count, is in namespace {other}" in finding.message
    assert not probe(*without, deployment(place, name), deployment(other, name, younger, ready=0))
    moved = deployment(place, name, ready=0, wanted=0)
    assert not probe(*without, moved, deployment(other, name, younger))


STACK_OF = {**{each.value: each for each in Stack}, "knative": Stack.KSERVE}
CONTROLLERS = [
    each
    for each in components(FullEvaluationSettings(stacks=dict.fromkeys(Stack, "on")))
    if each.part in STACK_OF
]
EXPECTED = [each for each in CONTROLLERS if each.mode is PartMode.ON]
OPTIONAL = [each for each in CONTROLLERS if each.mode is PartMode.AUTO]
LOOKED_AT = [StackMode.ON, StackMode.AUTO]


def look(component, mode, *docs, served=ALL_CRDS, **settings):
    """The findings of a cluster whose other components are healthy."""
    chosen = FullEvaluationSettings(stacks={STACK_OF[component.part]: mode}, **settings)
    rest = healthy_cluster(component.deployment)
    return evaluate_cluster(scope(snapshot_of(*rest, *docs, served=served), chosen))


def told_of(component, evaluation):
    return [each for each in evaluation.findings if each.reason == component.reason]


def place(component, **state):
    home = component.namespaces[0]
    return namespace(home), deployment(home, component.deployment, **state)


def test_every_stack_has_a_controller():
    """Otherwise nothing suppresses faults of a status without its writer. Plain workloads have none,
    and a dialect names its controller with its claims."""
    assert {STACK_OF[each.part] for each in EXPECTED} == set(Stack) - {
        Stack.WORKLOADS,
        Stack.DIALECTS,
    }
    assert all(each.row.governs for each in CONTROLLERS)
    assert OPTIONAL, "Knative's, which KServe's Standard mode does without"


def is_well(evaluation):
    """Whether there is no finding and nothing blocks the cluster's Ready."""
    return evaluation.findings == () and evaluation.ready != ()


def beside(component, **_):
    """Another controller of its stack, without it."""
    same = (each for each in EXPECTED if STACK_OF[each.part] is STACK_OF[component.part])
    return [doc for each in same for doc in place(each)]


def missing(_component):
    return []


@rows(
    ("controllers", "modes", "there", "cause"),
    {
        "missing while its stack is on": (EXPECTED, [StackMode.ON], missing, "missing"),
        "not missed while its stack is auto: one that does not exist is no fault": (EXPECTED, [StackMode.AUTO], missing, None),
        "what a stack can do without is never missed": (OPTIONAL, LOOKED_AT, beside, None),
        "down is told where it is": (CONTROLLERS, LOOKED_AT, partial(place, ready=0), "no pods"),
        "nothing is told of a stack that is off, down": (CONTROLLERS, [StackMode.OFF], partial(place, ready=0), None),
        "nor degraded": (CONTROLLERS, [StackMode.OFF], partial(place, wanted=2), None),
    },
)  # fmt: skip
def test_the_controller_of_a_stack(controllers, modes, there, cause):
    """It governs, and the cluster is not ready without one that is expected."""
    for each, mode in product(controllers, modes):
        found = look(each, mode, *there(each))
        told = [(one.cause, one.governs, one.related.name) for one in told_of(each, found)]
        assert told == ([(cause, True, each.deployment)] if cause else [])
        assert is_well(found) if cause is None else not found.ready


def test_an_empty_name_switches_it_off_in_any_mode():
    """As for components that are not of a stack."""
    assert [
        (each.reason, mode)
        for each, mode in product(CONTROLLERS, StackMode)
        if told_of(each, look(each, mode, *place(each, ready=0), **empty(each)))
    ] == []


def empty(component) -> dict[str, object]:
    """The setting that has the component's name, emptied; or its part, switched off."""
    if component.row.home:
        return {"components": {component.part: "off"}}
    fields = FullEvaluationSettings.model_fields
    (name,) = (key for key, each in fields.items() if each.default == component.deployment)
    return {name: ""}


def missed_crds(stack, mode):
    """The CRDs that are expected when none of the stack's subjects is served."""
    own = {STACK_OF[each.part]: each for each in EXPECTED}[stack]
    kinds = {each.crd_name for each in subjects_of(stack)}
    found = look(own, mode, *place(own), served=ALL_CRDS - kinds).findings
    missing = {each.related.name for each in found if each.reason == "clusterCRDMissing"}
    assert missing <= kinds
    return missing


def test_crds_are_missed_unless_the_stack_is_off():
    """Those without which it has no subjects, as its controller or its models' scaler runs."""
    with_kinds = set(Stack) - {Stack.WORKLOADS, Stack.DIALECTS}
    missed = {key for key in product(with_kinds, StackMode) if missed_crds(*key)}
    assert missed == set(product(with_kinds, LOOKED_AT))


@pytest.mark.parametrize("served", subjects_of(Stack.KTHENA), ids=str)
def test_a_kind_that_has_moved_is_not_missed_in_its_other_group(served):
    (own,) = (each for each in EXPECTED if each.part == Stack.KTHENA)
    others = {each.crd_name for each in subjects_of(Stack.KTHENA)} - {served.crd_name}
    evaluation = look(own, StackMode.ON, *place(own), served=ALL_CRDS - others)
    assert evaluation.findings == ()
    assert evaluation.ready
