"""The rest of the status: conditions of others, comparison, bounds, and what it is derived from."""

from dataclasses import fields

import msgspec
import pytest

from reporter.catalogue import resources as r
from reporter.stacks.kthena.derived.facts import ModelServingFacts, facts_of
from reporter.stacks.kthena.derived.status import derive
from reporter.stacks.kthena.derived.validity import violations
from reporter.stacks.kthena.objects import ModelServingStatus
from reporter.stacks.kthena.reasons import CONTROLLERREVISIONS, PODGROUPS
from tests.unit.probes.building import FORBIDDEN, condition, merged, namespace, snapshot_of
from tests.unit.stacks.kthena.derived.building import (
    DECODE,
    NAME,
    NS,
    PREFILL,
    Document,
    derived,
    differs,
    facts,
    group,
    kept,
    modelserving,
    of_type,
    pod,
    pod_group,
    role,
    service,
    stored,
    truth,
)

FOREIGN = condition("Degraded", "Unknown", "Probe", "who knows", "2026-01-02T03:04:05Z")
OURS = ("Available", "Progressing", "UpdateInProgress")


def test_conditions_of_other_types_stay_as_they_are():
    others = [FOREIGN, condition("Available", "False"), {"type": "Bare", "status": "True"}]
    serving = modelserving(DECODE, status={"conditions": others})
    found = derived(serving, *group(0, DECODE)).status["conditions"]
    assert [each["type"] for each in found] == [*OURS, "Degraded", "Bare"]
    assert found[3:] == [FOREIGN, {"type": "Bare", "status": "True"}]


def test_a_condition_of_ours_that_stands_there_twice_is_written_once():
    twice = [condition("Available", "True", since="2026-01-01T00:00:00Z")] * 2
    status = derived(modelserving(DECODE, status={"conditions": twice}), *group(0, DECODE)).status
    assert [each["type"] for each in status["conditions"]] == list(OURS)
    assert of_type(status, "Available")["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_a_condition_without_a_time_gets_one():
    bare = {"type": "Available", "status": "True", "reason": "AllGroupsReady", "message": ""}
    status = derived(modelserving(DECODE, status={"conditions": [bare]}), *group(0, DECODE)).status
    assert "lastTransitionTime" not in of_type(status, "Available")


def test_a_message_names_a_bounded_number_of_groups():
    """32,768 bytes is what the API takes."""
    serving = modelserving(DECODE, replicas=2_000_000_000)
    status = derived(serving, *group(0, DECODE)).status
    message = of_type(status, "Progressing")["message"]
    assert message.startswith("Some groups is progressing: [1 2 3 ")
    assert message.endswith(" 99 100 and 1999999899 more]")


@pytest.mark.parametrize("digits", [10, 19, 20])
def test_numbers_that_no_api_server_stores_are_not_choked_on(digits):
    """A dump may hold them: more than 32 bits, and more than 64."""
    many = int("9" * digits)
    serving = modelserving(merged(role("decode", many), {"workerReplicas": many}), replicas=many)
    found = derived(serving, pod_group("m-0"))
    assert (found.status["replicas"], found.status["availableReplicas"]) == (1, 0)
    broken = [f"{field}: {text}" for field, text in violations(facts(serving).modelserving)]
    assert broken[:3] == [
        f"{field}: must not be more than 2147483647"
        for field in (
            "spec.replicas",
            "spec.template.roles[0].replicas",
            "spec.template.roles[0].workerReplicas",
        )
    ]


def test_so_does_a_message_about_groups_that_exist():
    pods = [pod(f"m-{number}", "decode-0", 0, "pending") for number in range(150)]
    status = derived(modelserving(DECODE, replicas=150), *pods).status
    assert of_type(status, "Progressing")["message"].endswith(" 98 99 and 50 more]")


def test_replicas_default_to_one():
    status = derived(modelserving(DECODE, replicas=None), *group(0, DECODE)).status
    assert truth(status)["Available"] == "True"


@pytest.mark.parametrize(
    ("name", "ordinal"),
    [("m-12", 12), ("m-0", 0), ("m", -1), ("m-", -1), ("m-2147483647", 2**31 - 1),
     ("m-2147483648", -1), ("m-99999999999", -1), ("m-1x", -1), ("m-1-2", 2)],
)  # fmt: skip
def test_ordinals_have_32_bits(name, ordinal):
    (found,) = derived(modelserving(DECODE), pod(name, "decode-0")).groups
    assert found.ordinal == ordinal


EMPTY: Document = {}
ZEROS = {"observedGeneration": 0, "replicas": 0, "currentReplicas": 0, "updatedReplicas": 0,
         "availableReplicas": 0, "currentRevision": "", "updateRevision": "", "labelSelector": "",
         "conditions": [], "roleStatuses": [], "roleStatusesOmitted": 0}  # fmt: skip
ENTRY = {"servingGroupName": "m-0", "roleName": "d", "roleID": "d-0", "status": "Running"}
FULL = {
    "observedGeneration": 3, "replicas": 1, "currentReplicas": 1, "updatedReplicas": 1,
    "availableReplicas": 1, "currentRevision": "a", "updateRevision": "b", "labelSelector": "c",
    "conditions": [FOREIGN | {"observedGeneration": 4}],
    "roleStatuses": [ENTRY, ENTRY | {"roleID": "d-1"}], "roleStatusesOmitted": 5,
}  # fmt: skip
ROLE_FIELDS = {"roleStatuses", "roleStatusesOmitted"}


def typed(status):
    return msgspec.convert(status, ModelServingStatus)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (EMPTY, ZEROS),
        (ZEROS, EMPTY),
        (FULL, FULL),
        (
            {"conditions": [{"type": "A", "status": "True"}]},
            {"conditions": [{"type": "A", "status": "True", "reason": "", "message": "",
                             "observedGeneration": 0}]},
        ),
        (
            {"conditions": [FOREIGN | {"lastTransitionTime": "2026-01-02T03:04:05.678Z"}]},
            {"conditions": [FOREIGN]},
        ),
    ],
    ids=["absent", "zero", "equal", "absent in a condition", "fractions of seconds"],
)  # fmt: skip
def test_absent_and_zero_are_the_same(one, other):
    assert not differs(typed(one), other)
    assert not differs(typed(one), other, whole=False)


@pytest.mark.parametrize("name", FULL)
def test_each_field_makes_a_difference(name):
    without = {key: value for key, value in FULL.items() if key != name}
    assert differs(typed(FULL), without)
    assert differs(typed(without), FULL)
    assert differs(typed(FULL), without, whole=False) == (name in ROLE_FIELDS)


@pytest.mark.parametrize("name", [*FOREIGN, "observedGeneration"])
def test_each_field_of_a_condition_but_its_time_makes_a_difference(name):
    values = {"lastTransitionTime": "2026-01-02T03:04:06Z", "observedGeneration": 5}
    changed = FULL["conditions"][0] | {name: values.get(name, "Other")}
    is_time = name == "lastTransitionTime"
    assert differs(typed(FULL), FULL | {"conditions": [changed]}) is not is_time


@pytest.mark.parametrize("name", ENTRY)
def test_each_field_of_a_role_makes_a_difference(name):
    changed = FULL | {"roleStatuses": [ENTRY | {name: "other"}, FULL["roleStatuses"][1]]}
    assert differs(typed(FULL), changed)
    assert differs(typed(FULL), changed, whole=False)


WORLD = [
    *group(0, PREFILL, DECODE), service("m-0", "prefill-0"), *kept(PREFILL, DECODE),
    merged(pod("m-0", "decode-0"), {"metadata": {"namespace": "elsewhere"}}),
    merged(pod("n-0", "decode-0"),
           {"metadata": {"labels": {"modelserving.volcano.sh/name": "n"}}}),
]  # fmt: skip


class TestFacts:
    """What is collected, and when it is not enough to write."""

    def of(self, *documents, serving=None, **options):
        known = facts(serving or modelserving(PREFILL, DECODE)).modelserving
        return facts_of(known, snapshot_of(*documents, **options))

    def test_what_carries_the_name_in_the_namespace_is_collected(self):
        found = self.of(*WORLD)
        names = {
            field.name: len(value)
            for field in fields(ModelServingFacts)
            if isinstance(value := getattr(found, field.name), tuple)
        }
        assert names == {"pods": 3, "services": 1, "pod_groups": 1, "revisions": 2, "unread": 0}
        assert derive(found).status["availableReplicas"] == 1

    @pytest.mark.parametrize(
        ("options", "scheduler"),
        [({"served": ()}, None), ({}, "default-scheduler")],
        ids=["not served", "another scheduler"],
    )
    def test_pod_groups_are_not_in_use(self, options, scheduler):
        serving = modelserving(DECODE, **({"schedulerName": scheduler} if scheduler else {}))
        found = self.of(*group(0, DECODE), serving=serving, **options)
        assert (found.pod_groups, found.unread) == (None, ())

    @pytest.mark.parametrize(
        "resource", [r.PODS, r.SERVICES, PODGROUPS, CONTROLLERREVISIONS], ids=str
    )
    def test_what_could_not_be_read_is_named(self, resource):
        assert self.of(*WORLD, unknown={resource: FORBIDDEN}).unread == (str(resource),)

    def test_pod_groups_that_are_not_in_use_need_not_be_read(self):
        serving = modelserving(DECODE, schedulerName="default-scheduler")
        assert self.of(serving=serving, unknown={PODGROUPS: FORBIDDEN}).unread == ()

    def test_a_dump_of_other_namespaces_is_not_enough(self):
        assert len(self.of(*WORLD, namespace(NS), covered=["elsewhere"]).unread) == 4


def test_a_status_that_is_written_is_read_back_as_it_is():
    """Names of fields, above all: `roleID`."""
    serving = modelserving(DECODE)
    status = derived(serving, *group(0, DECODE), *kept(DECODE)).status
    written = facts(stored(serving, status)).modelserving.status
    assert [*msgspec.to_builtins(written)["roleStatuses"]] == status["roleStatuses"]
    assert (written.role_statuses[0].role_id, written.observed_generation) == ("decode-0", 1)
    assert facts(stored(serving, status)).modelserving.name == NAME
    assert serving["metadata"]["namespace"] == NS
