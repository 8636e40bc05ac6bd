"""What is read of stacks: nothing of one that is off, and of one that is `auto` what there is."""

from pathlib import Path

import pytest

from lab.sandbox import Sandbox
from lab.sandbox.faults import InjectedFault
from reporter.catalogue.resources import SHARED
from reporter.kube.informer import Timing
from reporter.kube.live import LiveCluster
from reporter.model.objects import KubeObject
from reporter.model.resource import Resource
from reporter.snapshot.snapshot import Served
from reporter.stacks.kthena.reasons import CONTROLLERREVISIONS, MODELSERVINGS, MODELSERVINGS_FORMER
from reporter.stacks.otterscale.reasons import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    MODELSERVICES,
    PLUGINS_CONFIGMAPS,
    SERVICEACCOUNTS,
)
from reporter.stacks.settings import FullEvaluationSettings
from tests.tables import CLUSTER_WIDE, Stack, subjects_of
from tests.unit.kube.living import definition, living, obj, until

OTTERSCALE_ON = FullEvaluationSettings(stacks={Stack.OTTERSCALE: "on"})
AUTO = FullEvaluationSettings(stacks=dict.fromkeys(Stack, "auto"))
HELPERS = {
    stack: [each for each in CLUSTER_WIDE if each.stack == stack and not each.subject_kind]
    for stack in Stack
}
"""What is read apart from the subjects of a stack."""


def needed(stack: Stack) -> list[Resource[KubeObject]]:
    """Those of them that are read only where something of the stack is there."""
    shown = AUTO.catalogue.stack(stack).shows_needs
    return [
        each for each in HELPERS[stack] if not each.wide and not each.opt_in and each not in shown
    ]


def crd(resource: Resource[KubeObject]):
    return definition(resource.plural, resource.kind, resource.group, version=resource.versions[0])


def serve(sandbox: Sandbox, *resources: Resource[KubeObject]) -> None:
    for each in resources:
        sandbox.create(crd(each))


def labelled(resource: Resource[KubeObject], name: str, **parts: object):
    """An object that the resource's label selector matches."""
    made = obj(resource.kind, name, "n", api=resource.api_version(), **parts)
    if resource.label_selector:
        key, _, value = resource.label_selector.partition("=")
        made["metadata"]["labels"] = {key: value or "x"}
    return made


def served(cluster: LiveCluster, resource: Resource[KubeObject]) -> Served:
    return cluster.snapshot().state(resource).served


@pytest.mark.parametrize("stack", Stack)
async def test_a_stack_that_is_off_is_not_asked_for(sandbox: Sandbox, tmp_path: Path, stack: Stack):
    """Neither listed nor in the snapshot, its metrics or what is unknown, though it is served."""
    own = [each for each in CLUSTER_WIDE if each.stack == stack]
    serve(sandbox, *(each for each in own if each.custom))
    asked: set[str] = set()
    settings = FullEvaluationSettings(stacks={stack: "off"})
    async with living(sandbox, tmp_path, settings, asked=asked) as cluster:
        snapshot = cluster.snapshot()
        assert not set(own) & snapshot.states.keys()
        assert not {each.selection for each in own} & {each.resource for each in cluster.health()}
    read_anyway = {str(each) for each in CLUSTER_WIDE if each.stack != stack} | {"configmaps"}
    assert not {str(each) for each in own} & asked - read_anyway
    assert "pods" in asked


@pytest.mark.parametrize("stack", Stack)
async def test_what_a_stack_needs_is_read_while_it_has_subjects(sandbox, tmp_path, stack):
    """Not before its kind is served, nor held; from then on, until it is not served any more."""
    serve(sandbox, *(each for each in HELPERS[stack] if each.custom))
    kinds, helpers = subjects_of(stack), needed(stack)
    of_others = (labelled(each, "of-others") for each in helpers if each.custom)
    sandbox.load([obj("Namespace", "n"), *of_others])
    asked: set[str] = set()
    async with living(sandbox, tmp_path, AUTO, asked=asked) as cluster:
        for each in (*kinds, *helpers):
            state = cluster.snapshot().state(each)
            assert (state.served, state.confirmed) == (Served.ABSENT, True)
        assert cluster.all_listed()
        assert not {str(each) for each in helpers} & asked - {str(each) for each in SHARED}
        held = {each.resource: each.objects for each in cluster.health()}
        assert held["namespaces"]
        assert sum(held.get(each.selection, 0) for each in helpers) == 0
        assert [each for each in helpers if list(cluster.snapshot()[each])] == []
        serve(sandbox, kinds[0])
        for each in (kinds[0], *helpers):
            await until(
                cluster,
                lambda found, each=each: (
                    found.state(each).confirmed and found.state(each).served is Served.SERVED
                ),
            )
        sandbox.delete("customresourcedefinitions.apiextensions.k8s.io", kinds[0].crd_name)
        for each in (kinds[0], *helpers):
            await until(cluster, lambda found, each=each: found.state(each).served is Served.ABSENT)


async def test_what_takes_a_wide_right_is_read_only_where_its_stack_is_on(sandbox, tmp_path):
    """All ConfigMaps may be read or none; nothing is said of those of a stack that is auto."""
    serve(sandbox, MODELSERVICES)
    asked: set[str] = set()
    async with living(sandbox, tmp_path, AUTO, asked=asked) as cluster:
        assert cluster.all_listed()
        assert not {SERVICEACCOUNTS, PLUGINS_CONFIGMAPS} & cluster.snapshot().states.keys()
        assert not cluster.snapshot().absence_known(SERVICEACCOUNTS, "n")
        assert "serviceaccounts" not in asked
    async with living(sandbox, tmp_path, OTTERSCALE_ON) as cluster:
        assert served(cluster, SERVICEACCOUNTS) is Served.SERVED


@pytest.mark.parametrize("stack", Stack)
async def test_a_stack_that_is_on_is_read_without_its_subjects(sandbox, tmp_path, stack):
    serve(sandbox, *(each for each in HELPERS[stack] if each.custom))
    settings = FullEvaluationSettings(stacks={stack: "on"})
    async with living(sandbox, tmp_path, settings) as cluster:
        for each in HELPERS[stack]:
            assert each.opt_in or served(cluster, each) is Served.SERVED


async def test_cluster_roles_are_read_only_where_that_is_asked_for(sandbox, tmp_path):
    """No mode of the stack asks for them, and nothing is said of those that nobody reads."""
    serve(sandbox, MODELSERVICES)
    asked: set[str] = set()
    async with living(sandbox, tmp_path, OTTERSCALE_ON, asked=asked) as cluster:
        assert cluster.all_listed()
        assert not {CLUSTERROLES, CLUSTERROLEBINDINGS} & cluster.snapshot().states.keys()
        assert not cluster.snapshot().absence_known(CLUSTERROLES)
        assert not {"clusterroles", "clusterrolebindings"} & asked
    sandbox.load([obj("Namespace", "n")])
    sandbox.load(labelled(each, "one") for each in (CLUSTERROLES, CLUSTERROLEBINDINGS))
    settings = FullEvaluationSettings(otterscale_cluster_roles=True)
    async with living(sandbox, tmp_path, settings) as cluster:
        assert served(cluster, CLUSTERROLES) is Served.SERVED
        assert served(cluster, CLUSTERROLEBINDINGS) is Served.SERVED


@pytest.mark.parametrize("kind", [MODELSERVINGS, MODELSERVINGS_FORMER], ids=str)
async def test_either_group_of_a_kind_that_has_moved_will_do(sandbox, tmp_path, kind):
    """The group that ModelServings had at first is taken where the cluster serves that."""
    serve(sandbox, kind)
    sandbox.load([obj("Namespace", "n"), labelled(kind, "m")])
    helpers = [each for each in HELPERS[Stack.KTHENA] if not each.custom]
    sandbox.load([labelled(each, "one", **PARTS.get(each.kind, {})) for each in helpers])
    async with living(sandbox, tmp_path) as cluster:
        snapshot = await until(
            cluster, lambda found: all(len(found[each]) == 1 for each in (kind, *helpers))
        )
        assert snapshot[kind].get("n", "m") is not None


PARTS = {"ControllerRevision": {"revision": 1}}


async def test_only_objects_with_the_label_are_read(sandbox: Sandbox, tmp_path: Path):
    """What others made of the same kind is none of ours, and may be very much."""
    selected = [each for each in CLUSTER_WIDE if each.label_selector]
    subjects = [subjects_of(stack)[0] for stack in Stack]
    served_too = {str(each): each for each in (*subjects, *selected) if each.custom}
    serve(sandbox, *served_too.values())
    sandbox.load([obj("Namespace", "n")])
    wanted = {}
    for number, each in enumerate(selected):
        parts = PARTS.get(each.kind, {})
        others = obj(each.kind, f"others-{number}", "n", api=each.api_version(), **parts)
        sandbox.load([labelled(each, f"ours-{number}", **parts), others])
        wanted[each.selection] = [f"ours-{number}"]
    settings = FullEvaluationSettings(stacks={"otterscale": "on"}, otterscale_cluster_roles=True)
    async with living(sandbox, tmp_path, settings) as cluster:
        found = await until(cluster, lambda found: all(len(found[each]) for each in selected))
        assert {each.selection: [one.name for one in found[each]] for each in selected} == wanted


async def test_what_is_watched_goes_on_while_discovery_is_away(sandbox: Sandbox, tmp_path: Path):
    """Even once it is unknown what is served: a failure of discovery is no deletion of kinds."""
    serve(sandbox, *subjects_of(Stack.KTHENA)[:1])
    sandbox.load([obj("Namespace", "n")])
    timing = Timing(backoff=0.01, unknown_after=0.0)
    async with living(sandbox, tmp_path, timing=timing) as cluster:
        await until(cluster, lambda found: found.state(CONTROLLERREVISIONS).confirmed)
        sandbox.load([labelled(CONTROLLERREVISIONS, "one", revision=1)])
        await until(cluster, lambda found: len(found[CONTROLLERREVISIONS]) == 1)  # by the watch
        away = sandbox.faults.add(InjectedFault(action="html", code=502, path_prefix="/apis"))
        gone = await until(cluster, lambda found: found.discovery.served is None)
        assert gone.state(CONTROLLERREVISIONS).served is Served.SERVED
        sandbox.load([labelled(CONTROLLERREVISIONS, "two", revision=2)])
        await until(cluster, lambda found: len(found[CONTROLLERREVISIONS]) == 2)
        sandbox.faults.remove(away)
        back = await until(cluster, lambda found: found.discovery.served is not None)
        assert len(back[CONTROLLERREVISIONS]) == 2
