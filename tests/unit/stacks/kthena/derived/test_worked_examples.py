"""Worked examples: creation, rollouts, partitions, gaps, scaling and restarts, moment by moment.

Where Kthena's own status (v1.0.0) says something else, the name of the case says what.
"""

from dataclasses import dataclass, field

import pytest

from tests.unit.stacks.kthena.derived.building import (
    DECODE,
    PREFILL,
    A,
    B,
    Document,
    at_image,
    counters,
    derived,
    entries,
    group,
    instance,
    kept,
    modelserving,
    of_type,
    pod_group,
    revisions,
    role,
    truth,
)

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
    Example(
        "9b scaled down", DOWN, [*groups("A Run"), *DECODE_A],
        "1/1/1/1", "A/A", OK, running("m-0"), generation=2,
    ),
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
    Example(
        "12a new, no replicas (Kthena never writes)",
        modelserving(DECODE, replicas=0), [], "0/0/0/0", "-/-", OK,
    ),
    Example(
        "12b1 scaled to 0, pods go", ZERO, [*groups("A Deleting"), *DECODE_A],
        "1/0/0/0", "A/A", progressing("0"), generation=2,
    ),
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
