"""Which revision is wanted and which groups are on it, without computing a hash."""

import pytest

from reporter.stacks.kthena.templates import same_roles
from tests.unit.probes.building import document, merged
from tests.unit.stacks.kthena.derived.building import (
    DECODE,
    LATER,
    NS,
    PREFILL,
    STARTED,
    A,
    B,
    Document,
    at_image,
    controller_revision,
    counters,
    derived,
    facts,
    group,
    instance,
    kept,
    modelserving,
    of_type,
    pod_group,
    revisions,
    role,
    template,
    truth,
)

UP = pod_group("m-0")
V2 = role("decode", image="v2")
RECORDED = {"currentRevision": A, "updateRevision": A}


def spec_of(**container: object) -> Document:
    return {"spec": {"containers": [{"name": "main", "image": "v1"} | container]}}


def with_spec(**fields: object) -> Document:
    found = template("v1")
    return found | {"spec": found["spec"] | fields}


def labelled(**labels: str) -> Document:
    return template("v1") | {"metadata": {"labels": labels}}


def two_containers() -> Document:
    found = template("v1")
    found["spec"]["containers"] *= 2
    return found


@pytest.mark.parametrize(
    ("written", "kept_as"),
    [
        ({}, {"resources": {}}),
        ({}, {"command": None, "env": []}),
        ({"stdin": False}, {}),
        ({"env": [{"name": "X", "value": ""}]}, {"env": [{"name": "X"}]}),
        (
            {"resources": {"limits": {"cpu": "0.5", "memory": "1024Mi", "gpu": 1}}},
            {"resources": {"limits": {"cpu": "500m", "memory": "1Gi", "gpu": "1"}}},
        ),
        ({"resources": {"requests": {"memory": "1e3"}}}, {"resources": {"requests": {"memory": "1k"}}}),
        (
            {"env": [{"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}]},
            {
                "env": [
                    {"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}}
                ]
            },
        ),
        ({"readinessProbe": {"initialDelaySeconds": 0}}, {"readinessProbe": {}}),
        ({"securityContext": {"privileged": False}}, {"securityContext": {"privileged": False}}),
    ],
)  # fmt: skip
def test_a_template_is_the_same_however_it_is_written(written, kept_as):
    """Go leaves out zero values, spells out empty structs and canonizes quantities."""
    ours = role("decode") | {"entryTemplate": spec_of(**written)}
    theirs = role("decode", 7) | {"entryTemplate": {"metadata": {}} | spec_of(**kept_as)}
    status = derived(modelserving(ours), *group(0, DECODE), controller_revision(A, theirs)).status
    assert revisions(status) == "A/A"


@pytest.mark.parametrize(
    "changed",
    [
        [role("decode", image="v2")],
        [role("decode", workers=1)],
        [DECODE | {"workerReplicas": 1}],
        [DECODE | {"entryTemplate": two_containers()}],
        [role("decoder")],
        [DECODE, PREFILL],
        [],
        [DECODE | {"entryTemplate": spec_of(resources={"limits": {"cpu": "501m"}})}],
        [DECODE | {"entryTemplate": spec_of(resources={"limits": {"cpu": "half"}})}],
        [DECODE | {"entryTemplate": spec_of(args=["--x", ""])}],
        [DECODE | {"entryTemplate": template("v1") | {"metadata": {"labels": {"app": "n"}}}}],
        [DECODE | {"entryTemplate": labelled(app="m", canary="")}],
        [DECODE | {"entryTemplate": with_spec(nodeSelector={"gpu": ""})}],
        [DECODE | {"entryTemplate": with_spec(automountServiceAccountToken=False)}],
        [DECODE | {"entryTemplate": with_spec(terminationGracePeriodSeconds=0)}],
        [DECODE | {"entryTemplate": spec_of(securityContext={"runAsUser": 0})}],
    ],
)
def test_another_template_is_another_revision(changed):
    ours = facts(modelserving(DECODE)).modelserving.roles
    assert not same_roles(ours, facts(modelserving(*changed)).modelserving.roles)


def test_the_order_of_the_roles_is_part_of_the_revision():
    one, other = (
        facts(modelserving(*roles)).modelserving.roles
        for roles in ([DECODE, PREFILL], [PREFILL, DECODE])
    )
    assert not same_roles(one, other)


def test_replicas_unavailability_and_partition_are_not():
    serving = modelserving(role("decode", 3, maxUnavailable="50%", partition=1))
    objects = [*group(0, role("decode", 3)), *kept(DECODE, revisions=[A])]
    assert revisions(derived(serving, *objects).status) == "A/A"


def deep(levels: int) -> Document:
    found: Document = {}
    for _ in range(levels):
        found = {"x": found}
    return found


@pytest.mark.parametrize(
    "data",
    [None, 7, "text", {}, {"data": None}, {"data": [{"name": 7}]}, {"data": {"a": 1}}, deep(400)],
)
def test_a_controller_revision_that_cannot_be_read_says_nothing(data):
    broken = merged(controller_revision(A), {"data": data})
    status = derived(modelserving(DECODE), *group(0, DECODE), broken).status
    assert (counters(status), revisions(status)) == ("1/1/0/1", "A/-")


def test_a_template_of_any_depth_is_compared_or_is_another():
    serving = modelserving(DECODE | {"entryTemplate": deep(400)})
    revision = controller_revision(A, DECODE | {"entryTemplate": deep(401)})
    assert derived(serving, *group(0, DECODE), revision).status["replicas"] == 1


def test_the_name_of_a_controller_revision_will_do_without_its_label():
    bare = merged(
        controller_revision(A, DECODE),
        {"metadata": {"labels": {"modelserving.volcano.sh/revision": None}}},
    )
    assert revisions(derived(modelserving(DECODE), *group(0, DECODE), bare).status) == "A/A"


def test_the_roles_may_stand_without_a_wrapper():
    revision = merged(controller_revision(A), {"data": None}) | {"data": [DECODE]}
    assert revisions(derived(modelserving(DECODE), *group(0, DECODE), revision).status) == "A/A"


UNKNOWN_TO_KTHENA = role("decode", image="v1") | {
    "entryTemplate": template("v1", fieldOfTomorrow="on")
}


@pytest.mark.parametrize(
    ("observed", "managers", "true"),
    [
        (2, [], "Available"),
        (2, [{"manager": "kthena", "subresource": "status"}], "Available"),
        (2, [{"manager": "productionstack-status-reporter", "subresource": "status"}], "UpdateInProgress"),
        (1, [], "UpdateInProgress"),
    ],
)  # fmt: skip
def test_a_field_that_kthena_does_not_know_is_no_change(observed, managers, true):
    """The CRD of our chart stores it; what Kthena recorded for the same spec says that it is done."""
    status = {**RECORDED, "observedGeneration": observed}
    serving = modelserving(UNKNOWN_TO_KTHENA, generation=2, status=status)
    serving = merged(serving, {"metadata": {"managedFields": managers}})
    found = derived(serving, *kept(DECODE, revisions=[A]), *group(0, DECODE, revision=A))
    assert any(each.awaits_update for each in found.groups) is (true != "Available")


def test_of_equal_revisions_the_newest_counts():
    """A newer controller may give the same roles another hash."""
    objects = [
        controller_revision(B, DECODE, created=LATER),
        controller_revision(A, DECODE, created=STARTED),
    ]
    status = derived(modelserving(DECODE), *group(0, DECODE), *objects).status
    assert (revisions(status), counters(status)) == ("A/B", "1/1/0/1")


class TestNoRevisionMatches:
    """The spec was changed and the controller has not begun, or keeps no ControllerRevisions."""

    def test_the_revisions_on_record_stay(self):
        serving = modelserving(V2, generation=2, status=RECORDED)
        status = derived(serving, *group(0, DECODE), *kept(DECODE, revisions=[A])).status
        assert (revisions(status), counters(status)) == ("A/A", "1/1/0/1")

    def test_no_revision_is_guessed(self):
        status = derived(modelserving(V2, generation=2), *group(0, DECODE)).status
        assert (revisions(status), counters(status)) == ("A/-", "1/1/0/1")

    def test_a_group_of_which_nothing_is_known_awaits_no_update(self):
        """Without a ControllerRevision nothing says that its template is another one."""
        unready = group(0, DECODE, state="Creating")
        told = kept(DECODE, revisions=[A])
        assert truth(derived(modelserving(V2), *unready).status)["UpdateInProgress"] == "False"
        assert (
            truth(derived(modelserving(V2), *unready, *told).status)["UpdateInProgress"] == "True"
        )

    def test_what_is_available_stays_so_until_the_update_begins(self):
        serving = modelserving(V2, generation=2, status=RECORDED)
        status = derived(serving, *group(0, DECODE), *kept(DECODE, revisions=[A])).status
        found = of_type(status, "UpdateInProgress")
        assert truth(status)["Available"] == "True"
        assert (found["reason"], found["message"]) == (
            "UpdateNotStarted",
            "Serving groups to be updated: [0]",
        )


class TestGroupsOfSeveralRevisions:
    def test_a_group_is_updated_when_all_pods_that_stay_are(self):
        serving = modelserving(role("decode", 2, image="v2"), status=RECORDED)
        mixed = [*instance("m-0", "decode-0"), *instance("m-0", "decode-1", revision=B), UP]
        left = [
            *instance("m-0", "decode-0", "terminating"),
            *instance("m-0", "decode-1", revision=B),
            UP,
        ]
        assert counters(derived(serving, *mixed, *kept(DECODE)).status) == "1/1/0/1"
        assert counters(derived(serving, *left, *kept(DECODE)).status) == "1/0/1/0"

    def test_a_pod_without_the_label_is_not_updated(self):
        pods = instance("m-0", "decode-0", revision=None)
        status = derived(modelserving(V2), *pods, UP, *kept(DECODE)).status
        assert (counters(status), revisions(status)) == ("1/0/0/1", "B/B")

    @pytest.mark.parametrize("state", ["ready", "pending"])
    def test_nor_is_it_known_to_be_outdated(self, state):
        pods = instance("m-0", "decode-0", state, revision=None)
        (found,) = derived(modelserving(V2), *pods, UP, *kept(DECODE)).groups
        assert (found.age.updated, found.age.outdated) == (False, False)


class TestRoleRollingUpdate:
    """The revision label says little: a role that is not changed keeps its pods."""

    ROLES = (role("decode", image="v2"), role("router"))

    def status(self, *objects, roles=ROLES, **more):
        return derived(modelserving(*roles, by_role=True, **more), *objects, UP).status

    def test_an_unchanged_role_on_the_old_label_is_up_to_date(self):
        pods = [*instance("m-0", "decode-0", revision=B), *instance("m-0", "router-0", revision=A)]
        before = controller_revision(A, role("decode"), role("router"))
        status = self.status(*pods, before)
        assert (counters(status), revisions(status)) == ("1/1/1/1", "B/B")

    def test_a_changed_role_is_outdated(self):
        pods = [*instance("m-0", "decode-0"), *instance("m-0", "router-0")]
        status = self.status(*pods, controller_revision(A, role("decode"), role("router")))
        assert counters(status) == "1/1/0/1"

    @pytest.mark.parametrize(("old", "updated"), [("h1", 0), ("h2", 1), (None, 1)])
    def test_without_a_controller_revision_the_hash_of_a_current_pod_decides(self, old, updated):
        """Kthena deletes the old one; a pod that nothing speaks against is current."""
        pods = [
            *instance("m-0", "decode-0", hash_=old),
            *instance("m-0", "decode-1", revision=B, hash_="h2"),
        ]
        for each in pods:
            created = LATER if "-1-" in each["metadata"]["name"] else STARTED
            each["metadata"]["creationTimestamp"] = created
        status = self.status(*pods, roles=[role("decode", 2, image="v2")])
        assert status["updatedReplicas"] == updated

    def test_the_newest_pods_tell_the_update_revision_that_nothing_keeps(self):
        pods = [*instance("m-0", "decode-0", revision=B), *instance("m-0", "router-0", revision=A)]
        pods[0]["metadata"]["creationTimestamp"] = LATER
        assert self.status(*pods)["updateRevision"] == B

    @pytest.mark.parametrize("recorded", ["", A, B, "zzz"])
    def test_of_pods_that_are_equally_new_nothing_is_concluded(self, recorded):
        pods = [*instance("m-0", "decode-0", revision=B), *instance("m-0", "router-0", revision=A)]
        status = self.status(*pods, status={"updateRevision": recorded})
        assert status.get("updateRevision", "") == recorded
        assert status.get("currentRevision", "") == (recorded if recorded in (A, B) else "")

    def test_a_node_selector_without_a_value_is_a_change_like_any_other(self):
        """RoleRollingUpdate keeps no new ControllerRevision: the spec is not the old one."""
        wanted = role("decode", 2) | {"entryTemplate": with_spec(nodeSelector={"gpu": ""})}
        pods = [
            *instance("m-0", "decode-0", revision=B, hash_="h2"),
            *instance("m-0", "decode-1", revision=B, hash_="h2"),
        ]
        status = self.status(*pods, controller_revision(A, role("decode", 2)), roles=[wanted])
        assert (counters(status), revisions(status)) == ("1/1/1/1", "B/B")

    def test_back_to_a_revision_that_is_kept(self):
        """The hash of a pod that is back on A shows that the one on B is not."""
        pods = [
            *instance("m-0", "decode-0", revision=B, hash_="h2"),
            *instance("m-0", "decode-1", revision=A, hash_="h1"),
            *instance("m-0", "router-0", revision=A),
        ]
        serving = [role("decode", 2), role("router")]
        status = self.status(*pods, controller_revision(A, *serving), roles=serving)
        assert (counters(status), revisions(status)) == ("1/1/0/1", "B/A")

    @pytest.mark.parametrize(
        ("partition", "true"), [(None, "UpdateInProgress"), (1, "UpdateInProgress"),
                                (2, "Progressing"), ("100%", "Progressing"),
                                ("50%", "UpdateInProgress")],
    )  # fmt: skip
    def test_the_partition_of_a_role_protects_its_first_instances(self, partition, true):
        roles = [role("decode", 2, image="v2", partition=partition), role("router")]
        pods = [
            *instance("m-0", "decode-0"), *instance("m-0", "decode-1"),
            *instance("m-0", "router-0", "pending"),
        ]  # fmt: skip
        status = self.status(
            *pods, controller_revision(A, role("decode"), role("router")), roles=roles
        )
        assert truth(status)[true] == "True"

    def test_an_instance_of_a_removed_role_is_to_be_updated_away(self):
        pods = [*instance("m-0", "router-0", "pending"), *instance("m-0", "cache-0")]
        status = self.status(*pods, roles=[role("router")])
        assert truth(status)["UpdateInProgress"] == "True"

    def test_the_partition_of_the_groups_does_not_apply(self):
        """The webhook refuses it."""
        pods = instance("m-0", "decode-0", "pending")
        status = self.status(
            *pods, *kept(DECODE, revisions=[A]), roles=[role("decode", image="v2")], partition=5
        )
        assert truth(status)["UpdateInProgress"] == "True"


@pytest.mark.parametrize(
    ("partition", "protected"),
    [
        (None, []),
        (0, []),
        (2, [0, 3]),
        (9, [0, 3, 4]),
        (-1, []),
        ("0%", []),
        ("1%", [0]),
        ("34%", [0, 3]),
        ("100%", [0, 3, 4]),
        ("two", []),
        ("2", []),
        ("%", []),
        ("-50%", []),
    ],
)
def test_partition_protects_the_first_groups(partition, protected):
    """A percentage is rounded up; what is neither protects none."""
    serving = modelserving(V2, replicas=3, partition=partition)
    objects = [each for ordinal in (4, 0, 3) for each in group(ordinal, DECODE)]
    found = derived(serving, *objects, *kept(DECODE)).groups
    assert [each.ordinal for each in found if each.age.protected] == protected


def test_strategies_and_policies_that_do_not_exist_are_not_choked_on():
    serving = document(
        "ModelServing", "m", NS,
        {"spec": {"rolloutStrategy": {"type": "Later"}, "recoveryPolicy": "", "template": {}}},
    )  # fmt: skip
    assert derived(serving).status["replicas"] == 0


def test_all_revisions_together():
    """Both the image and the number of groups change at once."""
    serving = modelserving(*at_image([PREFILL, DECODE], "v2"), replicas=3, status=RECORDED)
    objects = [*group(0, PREFILL, DECODE), *group(1, PREFILL, DECODE)]
    found = derived(serving, *objects, *kept(PREFILL, DECODE)).status
    assert (counters(found), revisions(found)) == ("2/2/0/2", "A/B")
    assert of_type(found, "UpdateInProgress")["message"] == (
        "Some groups is progressing: [2], Updated Groups are: []"
    )
