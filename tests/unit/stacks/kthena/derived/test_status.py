"""The status as a whole: worked examples, comparison, bounds, and what it is derived from."""

from dataclasses import dataclass, field, fields

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
        ({"conditions": [FOREIGN | {"lastTransitionTime": "2026-01-02T03:04:05.678Z"}]}, {"conditions": [FOREIGN]}),
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
    merged(pod("n-0", "decode-0"), {"metadata": {"labels": {"modelserving.volcano.sh/name": "n"}}}),
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


OK = ("Available", "All Serving groups are ready")
NEW_DECODE = at_image([DECODE], "v2")[0]


def progressing(ordinals: str) -> tuple[str, str]:
    return "Progressing", f"Some groups is progressing: [{ordinals}]"


def updating(ordinals: str, updated: str) -> tuple[str, str]:
    text = f"Some groups is progressing: [{ordinals}], Updated Groups are: [{updated}]"
    return "UpdateInProgress", text


def groups(*each: str, roles: tuple[Document, ...] = (DECODE,)) -> list[Document]:
    """Groups by ordinal, each as its revision and its state: `A Run`."""
    states = {"Run": "Running", "Creating": "Creating", "Deleting": "Deleting"}
    found: list[Document] = []
    for ordinal, text in enumerate(each):
        letter, _, state = text.partition(" ")
        found += group(ordinal, *roles, state=states[state], revision={"A": A, "B": B}[letter])
    return found


@dataclass(frozen=True)
class Example:
    """One moment: what there is, and the status that ours computes."""

    name: str
    serving: Document
    objects: list[Document]
    counters: str
    revisions: str
    true: tuple[str, str]
    roles: list[str] = field(default_factory=list)
    selector: str = "decode"
    generation: int = 1


TWO = modelserving(PREFILL, DECODE, replicas=2)
AB = (PREFILL, DECODE)
ONLY_A = kept(*AB, revisions=[A])

HALF_READY = [
    *group(0, *AB),
    *instance("m-1", "prefill-0", "ready", "starting"),
    *instance("m-1", "decode-0"),
    pod_group("m-1"),
]

RECORDED_A = {"currentRevision": A, "updateRevision": A}
ROLLS = modelserving(
    NEW_DECODE, replicas=3, generation=2, status=RECORDED_A | {"observedGeneration": 1}
)
FOUR = modelserving(NEW_DECODE, replicas=4, partition=2, generation=2, status=RECORDED_A)
BOTH = kept(DECODE)


def percent(partition: str) -> Document:
    return modelserving(
        NEW_DECODE, replicas=3, partition=partition, generation=2, status=RECORDED_A
    )


GAP = modelserving(DECODE, replicas=2, generation=3, status=RECORDED_A)
DOWN = modelserving(DECODE, replicas=1, generation=2, status=RECORDED_A)
ZERO = modelserving(DECODE, replicas=0, generation=2, status=RECORDED_A)
DECODE_A = kept(DECODE, revisions=[A])
SCALED = (role("prefill"), role("decode", 2, 1))
RESTARTS = modelserving(PREFILL, DECODE)
NEW_PAIR = role("decode", 2, image="v2")
BY_ROLE = modelserving(NEW_PAIR, by_role=True, generation=2, status=RECORDED_A)
PAIR_A = kept(role("decode", 2), revisions=[A])
UP = [pod_group("m-0")]


def running(*names: str) -> list[str]:
    return [f"{name} decode-0 Running" for name in names]


EXAMPLES = [
    Example(
        "1 fresh creation", TWO,
        [*group(0, *AB, state="Creating"), *group(1, *AB, state="Creating"), *ONLY_A],
        "2/0/2/0", "A/A", progressing("0 1"),
        [
            "m-0 prefill-0 Creating", "m-0 decode-0 Creating",
            "m-1 prefill-0 Creating", "m-1 decode-0 Creating",
        ],
        "prefill",
    ),
    Example(
        "2 one of two groups is ready (Kthena still says [0 1])", TWO, [*HALF_READY, *ONLY_A],
        "2/0/2/1", "A/A", progressing("1"),
        [
            "m-0 prefill-0 Running", "m-0 decode-0 Running",
            "m-1 prefill-0 Creating", "m-1 decode-0 Running",
        ],
        "prefill",
    ),
    Example(
        "3 all ready", TWO, [*group(0, *AB), *group(1, *AB), *ONLY_A],
        "2/2/2/2", "A/A", OK,
        [
            "m-0 prefill-0 Running", "m-0 decode-0 Running",
            "m-1 prefill-0 Running", "m-1 decode-0 Running",
        ],
        "prefill",
    ),
    Example(
        "4a the update starts (Kthena says A/B: B is in no object yet, and is not guessed)", ROLLS,
        [*groups("A Run", "A Run", "A Deleting"), *DECODE_A],
        "3/2/0/2", "A/A", updating("2", ""), running("m-0", "m-1"), generation=2,
    ),
    Example(
        "4b the first new group (Kthena still names no updated one)", ROLLS,
        [*groups("A Run", "A Run", "B Creating"), *BOTH],
        "3/2/1/2", "A/B", updating("2", "2"),
        [*running("m-0", "m-1"), "m-2 decode-0 Creating"], generation=2,
    ),
    Example(
        "4c the next old group goes (Kthena still names 2)", ROLLS,
        [*groups("A Run", "A Deleting", "B Run"), *BOTH],
        "3/1/1/2", "A/B", updating("1", "2"), running("m-0", "m-2"), generation=2,
    ),
    Example(
        "5a the last old group goes (Kthena says B/B, and two conditions True)", ROLLS,
        [*groups("A Deleting", "B Run", "B Run"), *BOTH],
        "3/0/2/2", "A/B", updating("0", "1 2"), running("m-1", "m-2"), generation=2,
    ),
    Example(
        "5b no old group is left (in Kthena UpdateInProgress is True, too)", ROLLS,
        [*groups("B Creating", "B Run", "B Run"), *BOTH],
        "3/0/3/2", "B/B", progressing("0"),
        ["m-0 decode-0 Creating", *running("m-1", "m-2")], generation=2,
    ),
    Example(
        "5c all new", ROLLS, [*groups("B Run", "B Run", "B Run"), *BOTH],
        "3/3/3/3", "B/B", OK, running("m-0", "m-1", "m-2"), generation=2,
    ),
    Example(
        "6 before the update: a partition leaves currentReplicas at 0",
        modelserving(DECODE, replicas=4, partition=2),
        [*groups("A Run", "A Run", "A Run", "A Run"), *DECODE_A],
        "4/0/4/4", "A/A", OK, running("m-0", "m-1", "m-2", "m-3"),
    ),
    Example(
        "6a partition 2 of 4 (Kthena says A/B: B is in no object yet)", FOUR,
        [*groups("A Run", "A Run", "A Run", "A Deleting"), *DECODE_A],
        "4/3/0/3", "A/A", updating("3", ""), running("m-0", "m-1", "m-2"), generation=2,
    ),
    Example(
        "6b the last group to update goes (in Kthena Progressing is True, too)", FOUR,
        [*groups("A Run", "A Run", "A Deleting", "B Run"), *BOTH],
        "4/2/1/3", "A/B", updating("2", "3"), running("m-0", "m-1", "m-3"), generation=2,
    ),
    Example(
        "6c as far as the partition lets it", FOUR,
        [*groups("A Run", "A Run", "B Run", "B Run"), *BOTH],
        "4/2/2/4", "A/B", OK, running("m-0", "m-1", "m-2", "m-3"), generation=2,
    ),
    Example(
        "7 partition 50% of 3 protects 2", percent("50%"),
        [*groups("A Run", "A Run", "B Creating"), *BOTH],
        "3/2/1/2", "A/B", progressing("2"),
        [*running("m-0", "m-1"), "m-2 decode-0 Creating"], generation=2,
    ),
    Example(
        "7 partition 33% of 3 protects 1", percent("33%"),
        [*groups("A Run", "A Run", "B Creating"), *BOTH],
        "3/2/1/2", "A/B", updating("2", "2"),
        [*running("m-0", "m-1"), "m-2 decode-0 Creating"], generation=2,
    ),
    Example(
        "8 a gap: m-0 and m-2 (Kthena names position 1)", GAP,
        [*group(0, DECODE), *group(2, DECODE, state="Creating"), *DECODE_A],
        "2/0/2/1", "A/A", progressing("2"),
        ["m-0 decode-0 Running", "m-2 decode-0 Creating"], generation=3,
    ),
    Example(
        "9a scale down from 3 to 1", DOWN,
        [*groups("A Run", "A Deleting", "A Deleting"), *DECODE_A],
        "3/0/1/1", "A/A", progressing("1 2"), running("m-0"), generation=2,
    ),
    Example("9b scaled down", DOWN, [*groups("A Run"), *DECODE_A], "1/1/1/1", "A/A", OK, running("m-0"), generation=2),
    Example(
        "10a a role is scaled up", modelserving(*SCALED, generation=2, status=RECORDED_A),
        [
            *instance("m-0", "prefill-0"), *instance("m-0", "decode-0", "ready", "ready"),
            *instance("m-0", "decode-1", "pending", "pending"), *UP,
            *kept(role("prefill"), role("decode", 1, 1), revisions=[A]),
        ],
        "1/0/1/0", "A/A", progressing("0"),
        ["m-0 prefill-0 Running", "m-0 decode-0 Running", "m-0 decode-1 Creating"],
        "prefill", 2,
    ),
    Example(
        "10b a role is scaled up, all ready", modelserving(*SCALED, generation=2),
        [*group(0, *SCALED), *kept(*SCALED, revisions=[A])],
        "1/1/1/1", "A/A", OK,
        ["m-0 prefill-0 Running", "m-0 decode-0 Running", "m-0 decode-1 Running"],
        "prefill", 2,
    ),
    Example(
        "11 t1 a worker restarts", RESTARTS,
        [
            *instance("m-0", "prefill-0", "ready", "restarted"), *instance("m-0", "decode-0"),
            *UP, *ONLY_A,
        ],
        "1/0/1/0", "A/A", progressing("0"),
        ["m-0 prefill-0 Creating", "m-0 decode-0 Running"], "prefill",
    ),
    Example(
        "11 t2 the rest of the instance goes (Kthena still says Creating)", RESTARTS,
        [
            *instance("m-0", "prefill-0", "terminating"), *instance("m-0", "decode-0"),
            *UP, *ONLY_A,
        ],
        "1/0/1/0", "A/A", progressing("0"),
        ["m-0 prefill-0 Deleting", "m-0 decode-0 Running"], "prefill",
    ),
    Example(
        "11 t3 nothing of the instance is left (Kthena has no such state)", RESTARTS,
        [*instance("m-0", "decode-0"), *UP, *ONLY_A],
        "1/0/1/0", "A/A", progressing("0"),
        ["m-0 prefill-0 NotFound", "m-0 decode-0 Running"], "decode",
    ),
    Example(
        "11 t4 all ready again", RESTARTS, [*group(0, *AB), *ONLY_A],
        "1/1/1/1", "A/A", OK,
        ["m-0 prefill-0 Running", "m-0 decode-0 Running"], "prefill",
    ),
    Example("12a new, no replicas (Kthena never writes)", modelserving(DECODE, replicas=0), [], "0/0/0/0", "-/-", OK),
    Example("12b1 scaled to 0, pods go", ZERO, [*groups("A Deleting"), *DECODE_A], "1/0/0/0", "A/A", progressing("0"), generation=2),
    Example("12b2 scaled to 0", ZERO, DECODE_A, "0/0/0/0", "A/A", OK, generation=2),
    Example(
        "12c a pod is not ready any more (Kthena stays Available)", modelserving(DECODE),
        [*instance("m-0", "decode-0", "not ready any more"), *UP, *DECODE_A],
        "1/0/1/0", "A/A", progressing("0"), ["m-0 decode-0 Creating"],
    ),
    Example(
        "12d1 RoleRollingUpdate: an instance goes (Kthena says Available, A/B)", BY_ROLE,
        [
            *instance("m-0", "decode-0"), *instance("m-0", "decode-1", "terminating"),
            *UP, *PAIR_A,
        ],
        "1/1/0/0", "A/A", updating("0", ""),
        ["m-0 decode-0 Running", "m-0 decode-1 Deleting"], generation=2,
    ),
    Example(
        "12d2 RoleRollingUpdate: it is back on B", BY_ROLE,
        [
            *instance("m-0", "decode-0"),
            *instance("m-0", "decode-1", "starting", revision=B), *UP, *PAIR_A,
        ],
        "1/1/0/0", "A/B", updating("0", ""),
        ["m-0 decode-0 Running", "m-0 decode-1 Creating"], generation=2,
    ),
    Example(
        "12d3 RoleRollingUpdate: the other one goes (Kthena says Available)", BY_ROLE,
        [
            *instance("m-0", "decode-0", "terminating"),
            *instance("m-0", "decode-1", revision=B), *UP, *PAIR_A,
        ],
        "1/1/0/0", "A/B", updating("0", ""),
        ["m-0 decode-0 Deleting", "m-0 decode-1 Running"], "decode", 2,
    ),
    Example(
        "12d4 RoleRollingUpdate: both on B", BY_ROLE,
        [
            *instance("m-0", "decode-0", revision=B), *instance("m-0", "decode-1", revision=B),
            *UP, *PAIR_A,
        ],
        "1/1/1/1", "B/B", OK,
        ["m-0 decode-0 Running", "m-0 decode-1 Running"], generation=2,
    ),
]  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.name)
def test_worked_example(example):
    status = derived(example.serving, *example.objects).status
    type_, message = example.true
    expected = dict.fromkeys(("Available", "Progressing", "UpdateInProgress"), "False")
    assert truth(status) == expected | {type_: "True"}
    assert of_type(status, type_)["message"] == message
    assert counters(status) == example.counters
    assert revisions(status) == example.revisions
    assert entries(status) == example.roles
    assert status["labelSelector"] == (
        "modelserving.volcano.sh/entry=true,modelserving.volcano.sh/name=m,"
        f"modelserving.volcano.sh/role-id={example.selector}-0,"
        f"modelserving.volcano.sh/role={example.selector}"
    )
    assert status["observedGeneration"] == example.generation
    assert {each["observedGeneration"] for each in status["conditions"]} == {example.generation}
