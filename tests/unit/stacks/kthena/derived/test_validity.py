"""Each rule of a ModelServing's spec, broken once."""

import msgspec
import pytest

from reporter.stacks.kthena.derived.validity import violations
from reporter.stacks.kthena.objects import ModelServing
from tests.unit.probes.building import document, merged

POD = {"spec": {"containers": [{"name": "main", "image": "engine:1"}]}}
PREFILL = {
    "name": "prefill",
    "replicas": 2,
    "workerReplicas": 1,
    "entryTemplate": POD,
    "workerTemplate": POD,
}
DECODE = {"name": "decode", "workerReplicas": 0, "entryTemplate": POD}
BASE = {"replicas": 3, "template": {"roles": [PREFILL, DECODE]}}
BY_GROUP, BY_ROLE = "ServingGroupRollingUpdate", "RoleRollingUpdate"
ROLE = "spec.template.roles[0]"
UPDATE = "spec.rolloutStrategy.rollingUpdateConfiguration"
GANG = "spec.template.gangPolicy.minRoleReplicas"
NOT_WITH_ROLES = "does not go with spec.rolloutStrategy.type RoleRollingUpdate"
LETTERS = "must be of lower-case letters, digits and '-', begin with a letter and not end in '-'"
PERCENT = "must be a number, or a percentage from 0% to 100%"


def modelserving(spec, name="m") -> ModelServing:
    whole = document("ModelServing", name, "models", {"spec": merged(BASE, spec)})
    return msgspec.convert(whole, ModelServing)


def told(spec, name="m") -> list[str]:
    return [f"{field}: {text}" for field, text in violations(modelserving(spec, name))]


def roles(*changed):
    """A patch with the first role changed; None in a change removes a field."""
    return {"template": {"roles": [merged(PREFILL, *changed), DECODE]}}


def strategy(type_, **update):
    rolling = {"rollingUpdateConfiguration": update} if update else {}
    return {"rolloutStrategy": {"type": type_, **rolling}}


def gang(**least):
    return {"template": {"gangPolicy": {"minRoleReplicas": least}}}


def image(text):
    return {"spec": {"containers": [{"name": "main", "image": text}]}}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"replicas": None},
        {"replicas": 0},
        {"recoveryPolicy": "None"},
        {"recoveryPolicy": "ServingGroupRecreate", **strategy(BY_GROUP)},
        strategy(BY_ROLE),
        strategy(BY_GROUP, maxUnavailable=5, partition=17),
        strategy(BY_GROUP, maxUnavailable="34%", partition="100%"),
        {"replicas": 0, **strategy(BY_GROUP, maxUnavailable="25%")},
        strategy(BY_GROUP, maxUnavailable=0, maxSurge=1),
        strategy(BY_GROUP, maxUnavailable="10%", maxSurge="10%"),
        gang(prefill=2, decode=0),
        roles({"replicas": None}),
        roles({"replicas": 0, "maxUnavailable": 1}),
        roles({"workerReplicas": 0, "workerTemplate": None}),
        {**roles({"partition": "50%", "maxUnavailable": "50%"}), **strategy(BY_ROLE)},
        {**roles({"maxUnavailable": 2}), **strategy(BY_ROLE)},
        {"template": {"roles": [merged(DECODE, {"name": name}) for name in "abcd"]}},
        roles({"entryTemplate": {"spec": {"containers": None}}}),
    ],
)
def test_what_the_webhook_admits_breaks_no_rule(spec):
    assert told(spec) == []


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"replicas": -1}, "spec.replicas: must not be negative"),
        ({"recoveryPolicy": "All"}, "spec.recoveryPolicy: must be one of None, RoleRecreate, ServingGroupRecreate"),
        ({"recoveryPolicy": "ServingGroupRecreate", **strategy(BY_ROLE)}, f"spec.recoveryPolicy: ServingGroupRecreate {NOT_WITH_ROLES}"),
        (strategy("Recreate"), "spec.rolloutStrategy.type: must be one of RoleRollingUpdate, ServingGroupRollingUpdate"),
        (strategy(BY_ROLE, maxUnavailable=1), f"{UPDATE}: {NOT_WITH_ROLES}"),
        (strategy(BY_GROUP, maxUnavailable=-1), f"{UPDATE}.maxUnavailable: must not be negative"),
        (strategy(BY_GROUP, maxUnavailable="101%"), f"{UPDATE}.maxUnavailable: {PERCENT}"),
        (strategy(BY_GROUP, maxUnavailable="some"), f"{UPDATE}.maxUnavailable: {PERCENT}"),
        (strategy(BY_GROUP, maxUnavailable=0), f"{UPDATE}.maxUnavailable: is 0, so that no rollout could begin"),
        (strategy(BY_GROUP, maxUnavailable="33%"), f"{UPDATE}.maxUnavailable: 33% of 3 is 0, so that no rollout could begin"),
        (strategy(BY_GROUP, maxUnavailable=0, maxSurge="0%"), f"{UPDATE}.maxUnavailable: is 0, so that no rollout could begin"),
        (strategy(BY_GROUP, partition=-1), f"{UPDATE}.partition: must not be negative"),
        (strategy(BY_GROUP, partition="-5%"), f"{UPDATE}.partition: {PERCENT}"),
        (gang(chat=1), f"{GANG}[chat]: there is no role chat"),
        (gang(prefill=-1), f"{GANG}[prefill]: must not be negative"),
        (gang(prefill=3), f"{GANG}[prefill]: 3 is more than the role's replicas, 2"),
        ({"template": {"gangSchedule": {"minRoleReplicas": {"chat": 1}}}}, "spec.template.gangSchedule.minRoleReplicas[chat]: there is no role chat"),
        (strategy(BY_GROUP, maxSurge=-1), f"{UPDATE}.maxSurge: must not be negative"),
        (strategy(BY_GROUP, maxSurge="some"), f"{UPDATE}.maxSurge: {PERCENT}"),
        ({"template": {"roles": []}}, "spec.template.roles: there must be a role"),
        ({"template": {"roles": [merged(DECODE, {"name": name}) for name in "abcde"]}}, "spec.template.roles: 5 roles are more than 4"),
        ({"template": {"roles": [DECODE, DECODE]}}, "spec.template.roles: two roles have the name decode"),
        (roles({"name": "prefill-of-it"}), f"{ROLE}.name: is longer than 12 characters"),
        (roles({"name": "Prefill"}), f"{ROLE}.name: {LETTERS}"),
        (roles({"replicas": -1}), f"{ROLE}.replicas: must not be negative"),
        (roles({"workerReplicas": None}), f"{ROLE}.workerReplicas: must be set"),
        (roles({"workerReplicas": -1}), f"{ROLE}.workerReplicas: must not be negative"),
        (roles({"workerTemplate": None}), f"{ROLE}.workerTemplate: must be set, as workerReplicas is more than 0"),
        (roles({"entryTemplate": None}), f"{ROLE}.entryTemplate: must be set"),
        (roles({"entryTemplate": image("engine :1")}), f"{ROLE}.entryTemplate.spec.containers[0].image: must not contain blanks"),
        (roles({"workerTemplate": image("engine:1\n")}), f"{ROLE}.workerTemplate.spec.containers[0].image: must not contain blanks"),
        (roles({"partition": 1}), f"{ROLE}.partition: only goes with spec.rolloutStrategy.type RoleRollingUpdate"),
        ({**roles({"partition": "x"}), **strategy(BY_ROLE)}, f"{ROLE}.partition: {PERCENT}"),
        ({**roles({"maxUnavailable": 3}), **strategy(BY_ROLE)}, f"{ROLE}.maxUnavailable: 3 is more than the role's replicas, 2"),
        ({**roles({"maxUnavailable": "49%"}), **strategy(BY_ROLE)}, f"{ROLE}.maxUnavailable: 49% of 2 is 0, so that no rollout could begin"),
        ({**roles({"replicas": 0, "maxUnavailable": 1}), **strategy(BY_ROLE)}, f"{ROLE}.maxUnavailable: 1 is more than the role's replicas, 0"),
    ],
)  # fmt: skip
def test_a_broken_rule_is_told_with_its_field(spec, said):
    """One at a time: nothing else is told of the same object."""
    assert told(spec) == [said]


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("m" * 50, f"{'m' * 50}-3-prefill-2-1"),
        ("1m", "1m-3-prefill-2-1"),
        ("m.n", "m.n-3-prefill-2-1"),
    ],
)
def test_names_made_of_its_own_must_be_labels(name, made):
    """`<name>-<replicas>-<role>-<role replicas>-<workers>`, the longest that is derived from it."""
    assert any(each.startswith("metadata.name: ") and made in each for each in told({}, name))


def test_the_longest_name_that_fits_breaks_no_rule():
    assert told({}, "m" * (63 - len("-3-prefill-2-1"))) == []


def test_all_broken_rules_are_told():
    spec = {"replicas": -1, "recoveryPolicy": "All", **strategy(BY_GROUP, partition=-1)}
    assert len(told(spec)) == 3
