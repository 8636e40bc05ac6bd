"""Properties of the status of a ModelServing: it is a function of state, and adds up."""

from dataclasses import replace

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from reporter.stacks.kthena.derived.status import MAX_ENTRIES, derive
from tests.unit.probes.building import condition, merged
from tests.unit.stacks.kthena.derived.building import (
    GONE,
    IMAGES,
    STATES,
    UID,
    A,
    B,
    Document,
    at_image,
    controller_revision,
    differs,
    facts,
    modelserving,
    pod,
    pod_group,
    role,
    service,
    stored,
)

TYPES = ("Available", "Progressing", "UpdateInProgress")

_names = st.sampled_from(("prefill", "decode", "router"))
_ordinals = st.sampled_from((0, 1, 2, 3, 10))
_revisions = st.sampled_from((A, B, "ccc"))
_partitions = st.one_of(
    st.none(), st.integers(-1, 5), st.sampled_from(("0%", "34%", "100%", "x", "1000%"))
)


@st.composite
def roles(draw) -> list[Document]:
    names = draw(st.lists(_names, unique=True, min_size=0, max_size=3))
    return [
        role(name, draw(st.integers(0, 3)), draw(st.integers(0, 2)), partition=draw(_partitions))
        for name in names
    ]


@st.composite
def a_pod(draw) -> Document:
    uid = draw(st.sampled_from((UID, UID, UID, "uid-of-another")))
    found = pod(
        f"m-{draw(_ordinals)}",
        f"{draw(_names)}-{draw(_ordinals)}",
        draw(st.integers(0, 3)),
        draw(st.sampled_from((*STATES, "ready", "ready", "ready", "terminating"))),
        revision=draw(st.one_of(st.none(), _revisions, _revisions)),
        hash_=draw(st.sampled_from((None, "h1", "h2"))),
        uid=uid,
    )
    created = f"2026-11-20T0{draw(st.integers(1, 3))}:00:00Z"
    return merged(found, {"metadata": {"creationTimestamp": created}})


@st.composite
def whole_group(draw, wanted: list[Document]) -> list[Document]:
    """A group as the controller makes it, so that complete ones are not rare."""
    name = f"m-{draw(_ordinals)}"
    state = draw(st.sampled_from(("ready", "ready", "pending", "terminating")))
    revision = draw(st.sampled_from((A, B)))
    pods = [
        pod(name, f"{each['name']}-{number}", index, state, revision=revision)
        for each in wanted
        for number in range(each["replicas"])
        for index in range(1 + each["workerReplicas"])
    ]
    return [*pods, pod_group(name)] if draw(st.booleans()) else pods


@st.composite
def worlds(draw):
    """A ModelServing, with a status of anybody on record, and objects of it in any state."""
    wanted = draw(roles())
    serving = modelserving(
        *at_image(wanted, IMAGES[draw(st.sampled_from((A, B)))]),
        replicas=draw(st.integers(0, 4)),
        partition=draw(_partitions),
        by_role=draw(st.booleans()),
        policy=draw(st.sampled_from((None, "None", "RoleRecreate", "ServingGroupRecreate"))),
        generation=draw(st.integers(1, 3)),
        status=draw(statuses()),
    )
    documents = [
        each for group in draw(st.lists(whole_group(wanted), max_size=4)) for each in group
    ]
    documents += draw(st.lists(a_pod(), max_size=6))
    for maker in (service, None):
        for ordinal in draw(st.lists(_ordinals, unique=True, max_size=2)):
            patch = draw(st.sampled_from(({}, GONE)))
            name = f"m-{ordinal}"
            documents.append(
                pod_group(name, patch) if maker is None else maker(name, "decode-0", patch)
            )
    for revision in draw(st.sets(st.sampled_from((A, B)))):
        documents.append(controller_revision(revision, *at_image(wanted, IMAGES[revision])))
    unique = {(each["kind"], each["metadata"]["name"]): each for each in documents}
    return facts(serving, *unique.values(), pod_groups=draw(st.booleans()))


@st.composite
def statuses(draw) -> Document:
    recorded = draw(st.lists(st.sampled_from((*TYPES, "Degraded")), max_size=5))
    return {
        "currentRevision": draw(st.sampled_from(("", A, B, "zzz"))),
        "updateRevision": draw(st.sampled_from(("", A, B, "zzz"))),
        "conditions": [
            condition(each, draw(st.sampled_from(("True", "False", "Unknown"))), "Was", "it was")
            for each in recorded
        ],
    }


def on_record(known, status):
    """The facts of the next pass, once `status` is written."""
    document = msgspec.to_builtins(known.modelserving)
    serving = msgspec.convert(stored(document, status), type(known.modelserving))
    return replace(known, modelserving=serving)


@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_objects_says_nothing(known, random):
    def shuffled(objects):
        return tuple(random.sample(objects, len(objects)))

    groups = known.pod_groups
    mixed = replace(
        known,
        pods=shuffled(known.pods),
        services=shuffled(known.services),
        pod_groups=None if groups is None else shuffled(groups),
        revisions=shuffled(known.revisions),
    )
    assert derive(mixed) == derive(known)


@given(worlds())
def test_a_second_pass_writes_nothing(known):
    first = derive(known)
    again = on_record(known, first.status)
    second = derive(again)
    assert not differs(again.modelserving.status, second.status)
    assert not differs(again.modelserving.status, second.status, whole=False)
    assert second.groups == first.groups


@given(worlds(), statuses())
def test_what_is_on_record_matters_for_times_and_revisions_only(known, before):
    document = msgspec.to_builtins(known.modelserving) | {"status": before}
    serving = msgspec.convert(document, type(known.modelserving))
    memory = ("currentRevision", "updateRevision", "conditions")

    def told(facts_):
        status = derive(facts_).status
        said = [
            (each["type"], each["status"], each["reason"], each["message"])
            for each in status["conditions"]
            if each["type"] in TYPES
        ]
        return {key: value for key, value in status.items() if key not in memory}, said

    if known.modelserving.rolls_roles or not known.revisions:
        # Nothing but the record may tell which revision a RoleRollingUpdate is rolling out, or one
        # without any ControllerRevision.
        serving = msgspec.structs.replace(
            serving,
            status=msgspec.structs.replace(
                serving.status, update_revision=known.modelserving.status.update_revision
            ),
        )
    assert told(replace(known, modelserving=serving)) == told(known)


@given(worlds())
def test_exactly_one_condition_is_true(known):
    status = derive(known).status
    ours = [each for each in status["conditions"] if each["type"] in TYPES]
    assert [each["type"] for each in ours] == list(TYPES)
    assert [each["status"] for each in ours].count("True") == 1
    generation = known.modelserving.metadata.generation
    assert {each["observedGeneration"] for each in ours} == {generation}
    assert status["observedGeneration"] == generation


@given(worlds())
def test_a_condition_keeps_its_time_exactly_while_it_keeps_its_status(known):
    before = known.modelserving.status
    for each in derive(known).status["conditions"][: len(TYPES)]:
        old = before.condition(each["type"])
        kept = old is not None and old.status == each["status"]
        assert ("lastTransitionTime" in each) == kept


@given(worlds())
def test_the_counters_add_up(known):
    status, groups = derive(known).status, derive(known).groups
    replicas, current, updated, available = (
        status[f"{name}eplicas"] for name in ("r", "currentR", "updatedR", "availableR")
    )
    serving = known.modelserving
    finished = updated == available == replicas == serving.wanted
    finished = finished and serving.rolling_update.partition is None
    assert replicas == len(groups)
    assert 0 <= available <= replicas
    assert available + sum(each.deleting for each in groups) <= replicas
    assert updated + current <= replicas or (finished and current == updated)
    true = next(each["type"] for each in status["conditions"] if each["status"] == "True")
    assert (true == "Available") == (available == replicas == serving.wanted)
    if finished and replicas and not serving.rolls_roles:
        assert status["currentRevision"] == status["updateRevision"]


@given(worlds())
def test_role_statuses_are_in_order_and_once_each(known):
    found = derive(known)
    listed = found.status.get("roleStatuses", [])
    names = [each.name for each in known.modelserving.roles]
    ordinals = {each.name: each.ordinal for each in found.groups if not each.deleting}
    places = [
        (
            ordinals[each["servingGroupName"]],
            names.index(each["roleName"]),
            int(each["roleID"].rpartition("-")[2]),
        )
        for each in listed
    ]
    assert places == sorted(set(places))
    assert len(listed) <= MAX_ENTRIES
