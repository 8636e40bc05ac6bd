"""Templates, and whose a status is."""

from dataclasses import replace

import msgspec
import pytest

from reporter.catalogue.resources import PODS
from reporter.stacks.kthena.objects import ControllerRevision, ModelServing, Role
from reporter.stacks.kthena.owning import Answer, Method, own
from reporter.stacks.kthena.reasons import STATUS_NOT_OWNED
from reporter.stacks.kthena.templates import roles_in, same_role, without_templates
from reporter.stacks.output import OutputScope
from reporter.stacks.settings import FullDaemonSettings
from tests.unit.probes.building import at, document, snapshot_of
from tests.unit.stacks.kthena.probes.kthena import evaluated, stack, waits

IMAGE = {"name": "vllm", "image": "vllm:1"}
WHOLE = {"metadata": {"labels": {"a": ""}}, "spec": {"containers": [IMAGE]}}


def slim(template):
    served = document(
        "ModelServing", "m", "n", {"spec": {"template": {"roles": [{"entryTemplate": template}]}}}
    )
    return without_templates(msgspec.convert(served, ModelServing)).roles[0].entry_template


OTHER = {**WHOLE, "priority": 0}


@pytest.mark.parametrize("one", [WHOLE, slim(WHOLE)])
@pytest.mark.parametrize(
    ("other", "same"),
    [(WHOLE, True), ({**WHOLE, "v": ""}, True), (OTHER, False), (slim(OTHER), False)],
)
def test_a_template_that_is_kept_short_is_compared_like_a_whole_one(one, other, same):
    assert same_role(Role(entry_template=one), Role(entry_template=other)) is same


def test_a_revision_keeps_its_roles():
    """With images, and nothing else of their templates."""
    data = {"data": [{"name": "r", "entryTemplate": {**WHOLE, "x": ["y"] * 9}}]}
    revision = msgspec.convert(
        document("ControllerRevision", "c", "n", {"data": data}), ControllerRevision
    )
    (role,) = roles_in(without_templates(revision).data)
    assert role.entry_template["spec"] == {"containers": [{"image": "vllm:1"}]}
    assert set(role.entry_template) == {"spec", "rest"}
    assert same_role(role, Role(name="r", entry_template=data["data"][0]["entryTemplate"]))


LOST = {"Pod m-0-decode-0-0": waits("Error")}


def owned(changes=(), *, before=None, second=0, leading=True, confirmed=True, answers=(), **flags):
    """A pass over a ModelServing that runs, with changes."""
    objects = stack(dict(changes))
    seen = snapshot_of(*objects.values())
    if not confirmed:
        state = replace(seen.state(PODS), confirmed=False)
        seen = replace(seen, states={**seen.states, PODS: state})
    derived = evaluated(objects).derived
    settings = FullDaemonSettings(**flags)
    before = before or {}
    scope = OutputScope(
        derived=derived, snapshot=seen, now=at(second), settings=settings, instance="replica-a",
        leading=leading,
    )  # fmt: skip
    return own(scope, before, dict(answers))


@pytest.mark.parametrize(
    ("mode", "methods"), [("off", None), ("roles", [Method.APPLY]), ("full", [Method.REPLACE])]
)
def test_how_much_is_written_is_a_setting(mode, methods):
    plan = owned(modelserving_status=mode).plan
    assert (None if plan is None else [each.method for each in plan.values()]) == methods


def test_a_standby_writes_nothing_and_remembers_nothing_of_the_leaders_writes():
    """It would take the leader's first write for somebody else's."""
    led = owned(modelserving_status="full")
    assert led.memory
    standby = owned(before=led.memory, leading=False, modelserving_status="full")
    assert (standby.plan, standby.memory) == (None, {})


@pytest.mark.parametrize(
    "change",
    [None, {"metadata": {"deletionTimestamp": "2026-11-20T12:00:00Z"}}],
    ids=["gone", "being deleted"],
)
def test_an_object_that_goes_is_not_claimed_and_its_memory_ends(change):
    """Its finalizers may run for minutes; nobody needs its status any more."""
    led = owned(modelserving_status="full")
    later = owned({"ModelServing m": change}, before=led.memory, modelserving_status="full")
    assert (later.plan, later.memory) == ({}, {})


def test_nothing_is_written_on_unconfirmed_data():
    """A lost connection may have hidden a pod; what is remembered stays."""
    led = owned(modelserving_status="full")
    doubted = owned(LOST, before=led.memory, confirmed=False, modelserving_status="full")
    assert doubted.plan is None
    assert doubted.memory == led.memory


def test_a_field_that_is_dropped_becomes_a_finding():
    """The answer to the write says so."""
    led = owned(modelserving_status="roles")
    ((uid, write),) = led.plan.items()
    answer = Answer(write.version, write.version, None, write.asked, pruned=("roleStatuses",))
    told = owned(before=led.memory, second=1, answers={uid: answer}, modelserving_status="roles")
    (finding,) = told.findings
    assert finding.reason == STATUS_NOT_OWNED
    assert "lacks status.roleStatuses" in finding.message
    assert told.plan == {uid: None}
