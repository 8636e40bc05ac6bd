"""The status as a whole: worked examples, comparison, bounds, and what it is derived from."""

from dataclasses import fields
from pathlib import Path

import msgspec
import pytest
import yaml

from reporter.catalogue import resources as r
from reporter.stacks.kthena.derived.facts import ModelServingFacts, facts_of
from reporter.stacks.kthena.derived.status import derive
from reporter.stacks.kthena.derived.validity import violations
from reporter.stacks.kthena.objects import ModelServingStatus
from reporter.stacks.kthena.reasons import CONTROLLERREVISIONS, PODGROUPS
from tests.tables import rows
from tests.unit.probes.building import FORBIDDEN, condition, merged, namespace, snapshot_of
from tests.unit.stacks.kthena.derived.building import (
    DECODE,
    NAME,
    NS,
    PREFILL,
    A,
    B,
    Document,
    at_image,
    counters,
    derived,
    differs,
    entries,
    facts,
    group,
    instance,
    kept,
    modelserving,
    of_type,
    pod,
    pod_group,
    revisions,
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


def test_groups_on_a_node_that_does_not_answer_are_not_available():
    """Kthena 1.0.0 leaves its status as it was: it does nothing about pods that only lose readiness.

    Seen beside its controller, with a node whose kubelet had been stopped.
    """
    whole = [*group(0, DECODE), *group(1, DECODE), *kept(DECODE, revisions=[A])]
    serving = modelserving(DECODE, replicas=2)
    written = derived(serving, *whole).status
    assert (counters(written), truth(written)["Available"]) == ("2/2/2/2", "True")
    lost = [
        *(pod(f"m-{each}", "decode-0", 0, "not ready any more") for each in range(2)),
        *(pod_group(f"m-{each}") for each in range(2)),
        *kept(DECODE, revisions=[A]),
    ]
    status = derived(stored(serving, written), *lost).status
    assert counters(status) == "2/0/2/0"
    assert truth(status) == {
        "Available": "False",
        "Progressing": "True",
        "UpdateInProgress": "False",
    }


def test_a_condition_without_a_time_gets_one():
    bare = {"type": "Available", "status": "True", "reason": "AllGroupsReady", "message": ""}
    status = derived(modelserving(DECODE, status={"conditions": [bare]}), *group(0, DECODE)).status
    assert "lastTransitionTime" not in of_type(status, "Available")


MANY_PENDING = [pod(f"m-{number}", "decode-0", 0, "pending") for number in range(150)]


@pytest.mark.parametrize(
    ("replicas", "objects", "begins", "ends"),
    [
        (2_000_000_000, group(0, DECODE), "[1 2 3 ", " 99 100 and 1999999899 more]"),
        (150, MANY_PENDING, "[0 1 2 ", " 98 99 and 50 more]"),
    ],
    ids=["groups that do not exist", "groups that do"],
)
def test_a_message_names_a_bounded_number_of_groups(replicas, objects, begins, ends):
    """32,768 bytes is what the API takes."""
    status = derived(modelserving(DECODE, replicas=replicas), *objects).status
    message = of_type(status, "Progressing")["message"]
    assert message.startswith(f"Some groups is progressing: {begins}")
    assert message.endswith(ends)


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


def without(name: str) -> Document:
    return {key: value for key, value in FULL.items() if key != name}


def with_condition(**changed: object) -> Document:
    return FULL | {"conditions": [FULL["conditions"][0] | changed]}


OTHERS = {"lastTransitionTime": "2026-01-02T03:04:06Z", "observedGeneration": 5}
BARE = {"type": "A", "status": "True"}
SPELT_OUT = BARE | {"reason": "", "message": "", "observedGeneration": 0}


@rows(
    ("one", "other", "whole", "roles"),
    {
        "absent is zero": (EMPTY, ZEROS, False, False),
        "zero is absent": (ZEROS, EMPTY, False, False),
        "equal": (FULL, FULL, False, False),
        "absent in a condition": ({"conditions": [BARE]}, {"conditions": [SPELT_OUT]}, False, False),
        "fractions of seconds": (
            {"conditions": [FOREIGN | {"lastTransitionTime": "2026-01-02T03:04:05.678Z"}]}, {"conditions": [FOREIGN]}, False, False,
        ),
        **{f"{name} is gone": (FULL, without(name), True, name in ROLE_FIELDS) for name in FULL},
        **{f"{name} is new": (without(name), FULL, True, name in ROLE_FIELDS) for name in FULL},
        **{
            f"another {name} of a condition": (FULL, with_condition(**{name: OTHERS.get(name, "Other")}), name != "lastTransitionTime", False)
            for name in (*FOREIGN, "observedGeneration")
        },
        **{
            f"another {name} of a role": (FULL, FULL | {"roleStatuses": [ENTRY | {name: "other"}, FULL["roleStatuses"][1]]}, True, True)
            for name in ENTRY
        },
    },
)  # fmt: skip
def test_what_makes_a_difference(one, other, whole, roles):
    """Each field, but for the time of a condition; beside another writer those of the roles."""
    assert differs(typed(one), other) is whole
    assert differs(typed(one), other, whole=False) is roles


WORLD = [
    *group(0, PREFILL, DECODE), service("m-0", "prefill-0"), *kept(PREFILL, DECODE),
    merged(pod("m-0", "decode-0"), {"metadata": {"namespace": "elsewhere"}}),
    merged(pod("n-0", "decode-0"), {"metadata": {"labels": {"modelserving.volcano.sh/name": "n"}}}),
]  # fmt: skip


def collected(*documents, serving=None, **options):
    known = facts(serving or modelserving(PREFILL, DECODE)).modelserving
    return facts_of(known, snapshot_of(*documents, **options))


def test_what_carries_the_name_in_the_namespace_is_collected():
    found = collected(*WORLD)
    names = {
        field.name: len(value)
        for field in fields(ModelServingFacts)
        if isinstance(value := getattr(found, field.name), tuple)
    }
    assert names == {"pods": 3, "services": 1, "pod_groups": 1, "revisions": 2, "unread": 0}
    assert derive(found).status["availableReplicas"] == 1


UNSCHEDULED = modelserving(DECODE, schedulerName="default-scheduler")
ALL_READ = tuple(map(str, (r.PODS, r.SERVICES, PODGROUPS, CONTROLLERREVISIONS)))


@rows(
    ("serving", "docs", "options", "groups", "unread"),
    {
        "PodGroups are not served": (modelserving(DECODE), group(0, DECODE), {"served": ()}, False, ()),
        "another scheduler": (UNSCHEDULED, group(0, DECODE), {}, False, ()),
        "PodGroups that are not in use need not be read": (UNSCHEDULED, [], {"unknown": {PODGROUPS: FORBIDDEN}}, False, ()),
        **{
            f"{each} cannot be read": (None, WORLD, {"unknown": {each: FORBIDDEN}}, True, (str(each),))
            for each in (r.PODS, r.SERVICES, PODGROUPS, CONTROLLERREVISIONS)
        },
        "a dump of other namespaces is not enough": (None, [*WORLD, namespace(NS)], {"covered": ["elsewhere"]}, True, ALL_READ),
    },
)  # fmt: skip
def test_when_it_is_not_enough_to_write(serving, docs, options, groups, unread):
    found = collected(*docs, serving=serving, **options)
    assert (found.pod_groups is not None, sorted(found.unread)) == (groups, sorted(unread))


def test_a_status_that_is_written_is_read_back_as_it_is():
    """Names of fields, above all: `roleID`."""
    serving = modelserving(DECODE)
    status = derived(serving, *group(0, DECODE), *kept(DECODE)).status
    written = facts(stored(serving, status)).modelserving.status
    assert [*msgspec.to_builtins(written)["roleStatuses"]] == status["roleStatuses"]
    assert (written.role_statuses[0].role_id, written.observed_generation) == ("decode-0", 1)
    assert facts(stored(serving, status)).modelserving.name == NAME
    assert serving["metadata"]["namespace"] == NS


NEW_DECODE, PAIR = at_image([DECODE], "v2")[0], role("decode", 2)
SCALED = (role("prefill"), role("decode", 2, 1))
SECOND = {"generation": 2, "status": {"currentRevision": A, "updateRevision": A}}
SEEN = {"currentRevision": A, "updateRevision": A, "observedGeneration": 1}


def rolling(partition: str | int, replicas: int = 3) -> Document:
    return modelserving(NEW_DECODE, replicas=replicas, partition=partition, **SECOND)


SERVINGS = {
    # a ModelServing of the examples, and the roles that its groups and revisions are made of
    "two": (modelserving(PREFILL, DECODE, replicas=2), (PREFILL, DECODE)),
    "one": (modelserving(PREFILL, DECODE), (PREFILL, DECODE)),
    "decode": (modelserving(DECODE), (DECODE,)),
    "none": (modelserving(DECODE, replicas=0), (DECODE,)),
    "parted": (modelserving(DECODE, replicas=4, partition=2), (DECODE,)),
    "rolls": (modelserving(NEW_DECODE, replicas=3, generation=2, status=SEEN), (DECODE,)),
    "four": (rolling(2, 4), (DECODE,)),
    "half": (rolling("50%"), (DECODE,)),
    "third": (rolling("33%"), (DECODE,)),
    "gap": (modelserving(DECODE, replicas=2, **SECOND | {"generation": 3}), (DECODE,)),
    "down": (modelserving(DECODE, replicas=1, **SECOND), (DECODE,)),
    "zero": (modelserving(DECODE, replicas=0, **SECOND), (DECODE,)),
    "scaled": (modelserving(*SCALED, **SECOND), (role("prefill"), role("decode", 1, 1))),
    "scaled-up": (modelserving(*SCALED, generation=2), SCALED),
    "by-role": (modelserving(*at_image([PAIR], "v2"), by_role=True, **SECOND), (PAIR,)),
}
EXAMPLES = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text("utf-8"))
OF_LETTER = {"A": A, "B": B}


def objects_of(example, roles: tuple[Document, ...]) -> list[Document]:
    """The objects of a moment."""
    found: list[Document] = []
    for ordinal, text in enumerate(example.get("groups", ())):
        letter, _, state = (text or "").partition(" ")
        if text:
            state = {"Run": "Running"}.get(state, state)
            found += group(ordinal, *roles, state=state, revision=OF_LETTER[letter])
    for place, (first, *rest) in example.get("pods", {}).items():
        states = rest if first in OF_LETTER else [first, *rest]
        found += instance(*place.split(), *states, revision=OF_LETTER.get(first, A))
    found += map(pod_group, example.get("pod-groups", ()))
    return [*found, *kept(*roles, revisions=map(OF_LETTER.get, example.get("revisions-kept", "")))]


def true_of(example) -> tuple[str, str]:
    """The condition that is True, and its message."""
    if "updating" in example:
        ordinals, updated = example["updating"]
        text = f"Some groups is progressing: [{ordinals}], Updated Groups are: [{updated}]"
        return "UpdateInProgress", text
    if "progressing" in example:
        return "Progressing", f"Some groups is progressing: [{example['progressing']}]"
    return "Available", "All Serving groups are ready"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each["what"])
def test_worked_example(example):
    serving, roles = SERVINGS[example["of"]]
    status = derived(serving, *objects_of(example, roles)).status
    type_, message = true_of(example)
    assert truth(status) == dict.fromkeys(OURS, "False") | {type_: "True"}
    assert of_type(status, type_)["message"] == message
    assert counters(status) == example["counters"]
    assert revisions(status) == example["revisions"]
    running = [f"{name} decode-0 Running" for name in example.get("running", ())]
    assert entries(status) == [*running, *example.get("roles", ())]
    selected = example.get("selector", "decode")
    assert status["labelSelector"] == (
        "modelserving.volcano.sh/entry=true,modelserving.volcano.sh/name=m,"
        f"modelserving.volcano.sh/role-id={selected}-0,modelserving.volcano.sh/role={selected}"
    )
    generation = serving["metadata"]["generation"]
    assert status["observedGeneration"] == generation
    assert {each["observedGeneration"] for each in status["conditions"]} == {generation}
