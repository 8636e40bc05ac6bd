import json
from datetime import UTC, datetime

import pytest

from reporter.catalogue import resources as r
from reporter.model.report import SkippedObject
from reporter.snapshot.dump import load_dump
from reporter.snapshot.inputs.files import DumpError
from reporter.snapshot.snapshot import Served
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import WORKSPACES
from tests.tables import rows


def obj(api_version, kind, name, *, namespace="", **rest):
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    metadata |= rest.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def deployment(name="d", namespace="n", **rest):
    return obj("apps/v1", "Deployment", name, namespace=namespace, **rest)


def workspace(name="w", namespace="n", version="v1beta1", **rest):
    return obj(f"kaito.sh/{version}", "Workspace", name, namespace=namespace, **rest)


def crd(name, **rest):
    return obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", name, **rest)


def listed(kind, *objects):
    """A list whose kind tells the kind of its items."""
    version = {"Deployment": "apps/v1", "CustomResourceDefinition": "apiextensions.k8s.io/v1"}
    return {"apiVersion": version.get(kind, "v1"), "kind": f"{kind}List", "items": [*objects]}


def crds(*names):
    return listed("CustomResourceDefinition", *({"metadata": {"name": name}} for name in names))


def apis(group_version, *resources):
    return listed("APIResource") | {
        "groupVersion": group_version,
        "resources": [{"name": each} if isinstance(each, str) else each for each in resources],
    }


def items(*objects):
    return {"apiVersion": "v1", "kind": "List", "items": [*objects]}


def forbidden(group, kind, reason="Forbidden"):
    return {
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": reason,
        "details": {"group": group, "kind": kind},
    }  # fmt: skip


def names(dump, resource):
    return [each.name for each in dump.snapshot[resource]]


BARE = {"metadata": {"name": "d", "namespace": "n"}}


@rows(
    "document",
    {
        "single": deployment(),
        "List": items(deployment()),
        "typed list": listed("Deployment", deployment()),
        "typed list of bare items": listed("Deployment", BARE),
        "list of lists": items(items(deployment())),
    },
)
def test_lists_and_single_documents(load, document):
    """Every form in which kubectl and the API server print objects is read."""
    dump = load(document)
    assert names(dump, r.DEPLOYMENTS) == ["d"]
    assert dump.snapshot.skipped == ()


POD = obj("v1", "Pod", "p", namespace="n")


@pytest.mark.parametrize(
    ("documents", "complete", "namespace", "known"),
    [
        ([deployment()], False, "n", True),
        ([deployment()], False, "other", False),
        ([deployment()], True, "other", True),
        ([POD], False, "n", False),
        ([POD], True, "n", True),
        ([obj("apps/v1", "StatefulSet", "s", namespace="other"), deployment()], False, "other", True),
        ([obj("v1", "Namespace", "other"), deployment()], False, "other", False),
        ([listed("Deployment"), POD], False, "n", True),
        ([listed("Deployment") | {"items": None}, POD], False, "n", True),
        ([items(), POD], False, "n", False),
        ([deployment(), forbidden("apps", "deployments")], True, "n", False),
    ],
)  # fmt: skip
def test_absence_needs_a_look(load, documents, complete, *, namespace, known):
    """An object is known not to exist only where its kind was looked for."""
    snapshot = load(*documents, complete=complete).snapshot
    assert snapshot.absence_known(r.DEPLOYMENTS, namespace) is known


YES, NO, UNKNOWN = Served.SERVED, Served.ABSENT, Served.UNKNOWN
OTHER, ANOTHER = crd("other.kaito.sh"), crd("another.kaito.sh")
OTHERS = crds("other.kaito.sh", "another.kaito.sh")
NOT_SERVED = crd("workspaces.kaito.sh", spec={"versions": [{"name": "v1", "served": False}]})
NOT_ESTABLISHED = {"conditions": [{"type": "Established", "status": "False"}]}
NO_CRDS_READ = forbidden("apiextensions.k8s.io", "customresourcedefinitions")


@pytest.mark.parametrize(
    ("documents", "complete", "served", "missing"),
    [
        ([workspace()], False, YES, YES),
        ([OTHERS], False, NO, NO),
        ([items(OTHER)], False, UNKNOWN, UNKNOWN),
        ([items(OTHER, ANOTHER)], False, NO, NO),
        ([OTHER, ANOTHER], False, UNKNOWN, UNKNOWN),
        ([OTHERS, workspace()], False, YES, YES),
        ([deployment()], False, UNKNOWN, UNKNOWN),
        ([deployment()], True, YES, UNKNOWN),
        ([crd("workspaces.kaito.sh")], False, UNKNOWN, YES),
        ([crd("workspaces.kaito.sh"), workspace()], False, YES, YES),
        ([OTHER, workspace()], False, YES, YES),
        ([OTHER], True, NO, NO),
        ([apis("kaito.sh/v1beta1", "workspaces", "workspaces/status"), workspace()], False, YES, YES),
        ([apis("v1", "pods")], False, UNKNOWN, UNKNOWN),
        ([apis("kaito.sh/v1beta1", "ragengines")], False, NO, NO),
        ([apis("", "pods", {"name": "ragengines", "group": "kaito.sh"})], False, NO, NO),
        ([crds()], False, NO, NO),
        ([NOT_SERVED, workspace()], False, NO, NO),
        ([crd("workspaces.kaito.sh", status=NOT_ESTABLISHED)], False, NO, NO),
        ([OTHER, NO_CRDS_READ, workspace()], False, YES, YES),
        ([OTHERS, NO_CRDS_READ], False, UNKNOWN, UNKNOWN),
    ],
)  # fmt: skip
def test_what_is_served(load, documents, complete, *, served, missing):
    """A list of CRDs or API resources decides what is served; a single CRD proves only itself."""
    snapshot = load(*documents, complete=complete).snapshot
    assert snapshot.state(WORKSPACES).served is served
    assert snapshot.discovery.state("workspaces.kaito.sh") is missing


def test_objects_of_a_kind_that_is_not_served_are_left_out_and_noted(load):
    """What the dump says of the kind counts, and a note tells the reader."""
    for said in (NOT_SERVED, forbidden("kaito.sh", "workspaces")):
        dump = load(said, workspace())
        assert names(dump, WORKSPACES) == []
        assert "1 Workspace object(s) are left out" in dump.notes[0]


@pytest.mark.parametrize(
    ("reason", "kind", "cause", "permission"),
    [
        ("Forbidden", "workspaces", "forbidden", "list on workspaces.kaito.sh"),
        ("Forbidden", "Workspace", "forbidden", "list on Workspace.kaito.sh"),
        ("ServiceUnavailable", "workspaces", "service unavailable", ""),
        ("", "workspaces", "failed", ""),
        (None, "workspaces", "failed", ""),
    ],
)
def test_a_status_marks_its_resource_unknown(load, reason, kind, *, cause, permission):
    """A failure in the dump means that its resource could not be read."""
    state = load(workspace(), forbidden("kaito.sh", kind, reason)).snapshot.state(WORKSPACES)
    assert (state.served, state.cause, state.permission) == (Served.UNKNOWN, cause, permission)


def test_a_status_of_the_core_group_and_of_success(load):
    assert load(POD, forbidden("", "pods")).snapshot.state(r.PODS).cause == "forbidden"
    fine = {"apiVersion": "v1", "kind": "Status", "status": "Success"}
    assert load(POD, fine).snapshot.state(r.PODS).served is Served.SERVED


def test_a_status_without_details_is_counted(load):
    (skip,) = load(deployment(), {"apiVersion": "v1", "kind": "Status"}).snapshot.skipped
    assert "does not name its resource" in skip.cause


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
def test_versions_whose_fields_are_known(load, version):
    assert names(load(workspace(version=version)), WORKSPACES) == ["w"]


def test_an_unknown_version_is_skipped(load):
    dump = load(workspace(version="v9"))
    assert dump.snapshot.skipped == (
        SkippedObject("workspaces.kaito.sh", "n", "w", "version v9 of Workspace is not known"),
    )


def event(api_version="v1", **rest):
    labels = {"labels": {"status-reporter.io/reason": "clusterReady"}}
    return obj(api_version, "Event", "e", namespace="kube-system", metadata=labels, **rest)


def test_our_events_are_read_in_both_views(load):
    """events.k8s.io has other names for the fields of the same Event."""
    core = event(message="m", involvedObject={"kind": "Namespace", "name": "x"}, count=2)
    regarding = {"kind": "Namespace", "name": "x"}
    other = event("events.k8s.io/v1", note="m", regarding=regarding, deprecatedCount=2)
    (a,), (b,) = load(core).snapshot[r.EVENTS], load(other).snapshot[r.EVENTS]
    assert (a.message, a.involved_object.name, a.count) == ("m", "x", 2)
    assert a == b


def test_other_events_and_configmaps_are_a_look_but_not_read(load):
    """Only what a live reporter reads is read, so oddities of other objects are not counted."""
    dump = load(
        other_event(involvedObject={"kind": "Pod"}),
        obj("v1", "ConfigMap", "settings", namespace="n", data=5),
        obj("v1", "ConfigMap", "istio-canary", namespace="istio-system", data={"mesh": "a: 1"}),
    )
    assert names(dump, r.EVENTS) == []
    assert names(dump, r.CONFIGMAPS) == ["istio-canary"]
    assert dump.snapshot.state(r.EVENTS).served is Served.SERVED
    assert dump.snapshot.skipped == ()


@pytest.mark.parametrize(
    ("first", "second", "wins", "skips"),
    [
        ("7", "9", "second", 1),
        ("9", "7", "first", 1),
        ("10", "9", "first", 1),
        ("7", "7", "second", 0),
        ("", "", "second", 1),
        ("x", "y", "second", 1),
        ("7", "", "first", 1),
    ],
)
def test_duplicates(load, first, second, *, wins, skips):
    """The newer of two copies counts, or else the later one; the older is superseded and hides nothing."""
    copies = [
        deployment(metadata={"resourceVersion": version, "uid": uid})
        for version, uid in ((first, "first"), (second, "second"))
    ]
    dump = load(*copies)
    (kept,) = dump.snapshot[r.DEPLOYMENTS]
    assert kept.metadata.uid == wins
    assert len(dump.snapshot.superseded) == skips
    assert dump.snapshot.skipped == ()


def test_the_preferred_version_of_one_object_counts(load):
    new = workspace(metadata={"resourceVersion": "7", "uid": "new"})
    old = workspace(version="v1alpha1", metadata={"resourceVersion": "7", "uid": "old"})
    for documents in ((new, old), (old, new)):
        dump = load(*documents)
        assert [each.metadata.uid for each in dump.snapshot[WORKSPACES]] == ["new"]
        assert dump.snapshot.skipped == ()


def managed(hour):
    return {"managedFields": [{"time": f"2026-11-20T{hour}:00:00Z"}]}


@rows(
    ("first", "second", "wins"),
    {
        "generation": ({"generation": 2}, {"generation": 1}, "first"),
        "later generation": ({"generation": 1}, {"generation": 2}, "second"),
        "another object": ({"generation": 2, "uid": "a"}, {"generation": 1, "uid": "b"}, "second"),
        "time": (managed(12), managed(11), "first"),
        "one time": ({"creationTimestamp": "2026-11-20T12:00:00Z"}, {}, "second"),
    },
)
def test_copies_without_a_resource_version(load, first, second, *, wins):
    """The generation of the same object counts, then the newest time, then the later copy."""
    copies = [
        deployment(metadata={**metadata, "labels": {"copy": name}})
        for name, metadata in (("first", first), ("second", second))
    ]
    (kept,) = load(*copies).snapshot[r.DEPLOYMENTS]
    assert kept.metadata.label("copy") == wins


def test_a_malformed_copy_counts_only_where_it_is_the_newest(load):
    """An older one hides nothing; a newer one leaves the state of the object unknown."""
    good, bad = deployment(metadata={"resourceVersion": "7"}), {"spec": 5}
    older = load(good, deployment(metadata={"resourceVersion": "5"}, **bad)).snapshot
    assert (len(older[r.DEPLOYMENTS]), len(older.skipped), len(older.superseded)) == (1, 0, 1)
    newer = load(good, deployment(metadata={"resourceVersion": "9"}, **bad)).snapshot
    assert (len(newer[r.DEPLOYMENTS]), len(newer.skipped)) == (0, 1)
    assert not newer.absence_known(r.DEPLOYMENTS, "n", "d")
    same = load(good, deployment(metadata={"resourceVersion": "7"}, **bad)).snapshot
    assert (len(same[r.DEPLOYMENTS]), len(same.skipped)) == (1, 0)


def test_the_same_document_twice_supersedes_nothing(load):
    """Files of one dump often overlap."""
    assert load(deployment(), deployment()).snapshot.superseded == ()


N, M = obj("v1", "Namespace", "n"), obj("v1", "Namespace", "m")


@rows(
    ("documents", "complete", "known"),
    {
        "one": ([N], False, False),
        "several single ones": ([N, M], False, False),
        "a list of one": ([items(N)], False, False),
        "a list": ([items(N, M)], False, True),
        "a typed list": ([listed("Namespace", {"metadata": {"name": "n"}})], False, True),
        "complete": ([N], True, True),
    },
)
def test_other_namespaces_are_absent_only_beside_a_list(load, documents, complete, *, known):
    snapshot = load(*documents, complete=complete).snapshot
    assert snapshot.absence_known(r.NAMESPACES, name="other") is known
    assert [each.name for each in snapshot[r.NAMESPACES]][-1:] == ["n"]
    assert ("namespaces" in snapshot.incomplete) is not known


@pytest.mark.parametrize(
    ("name", "known"), [("deployments.apps", True), ("deployments", True), ("dump", False)]
)
def test_an_empty_list_tells_its_kind_by_the_name_of_its_file(tmp_path, name, *, known):
    (tmp_path / f"{name}.json").write_text(json.dumps(items()))
    (tmp_path / "p.json").write_text(json.dumps(POD))
    snapshot = load_dump([tmp_path], BUILT_IN).snapshot
    assert snapshot.absence_known(r.DEPLOYMENTS, "n") is known


def created(time):
    return deployment(metadata={"creationTimestamp": time})


def other_event(**times):
    return obj("v1", "Event", "e", namespace="n", **times)


BEATING = {"conditions": [{"lastHeartbeatTime": "2026-11-20T11:00:00Z"}]}
TERMINATED = {"terminated": {"finishedAt": "2026-11-20T09:00:00Z"}}
ENDED = {"containerStatuses": [{"name": "c", "lastState": TERMINATED}]}
STARTED = {"x": {"startTime": "2026-11-20T08:00:00Z"}}


@pytest.mark.parametrize(
    ("document", "newest"),
    [
        (created("2026-11-20T10:00:00Z"), 10),
        (deployment(status={"conditions": [{"lastUpdateTime": "2026-11-20T11:00:00Z"}]}), 11),
        (obj("v1", "Node", "n", status=BEATING), 11),
        (other_event(series={"lastObservedTime": "2026-11-20T13:00:00.5+02:00"}), 11),
        (other_event(eventTime="2026-11-20T12:00:00.000000Z"), 12),
        (POD | {"status": ENDED}, 9),
        (obj("apps/v1", "StatefulSet", "s", namespace="n", status=STARTED), 8),
        (deployment(status={"expiresAt": "2026-11-20T10:00:00Z"}), None),
        (created("yesterday"), None),
        (created("2026-11-20T10:00:00"), None),
        (created("9999-12-31T23:59:59-23:00"), None),
        (deployment(), None),
    ],
)
def test_the_newest_time(load, document, newest):
    """The time of a dump is the newest time in any document that is not in the future."""
    found = load(document).newest
    whole = found.replace(minute=0, second=0, microsecond=0) if found else None
    assert whole == (datetime(2026, 11, 20, newest, tzinfo=UTC) if newest else None)


@pytest.mark.parametrize(
    ("document", "cause"),
    [
        (5, "not a Kubernetes object"),
        ([4, 5], "not a Kubernetes object"),
        ("text", "not a Kubernetes object"),
        ({}, "no kind or no apiVersion"),
        ({"kind": "Pod"}, "no kind or no apiVersion"),
        ({"kind": 5, "apiVersion": "v1"}, "not text"),
        ({"kind": "List", "apiVersion": "v1", "items": 5}, "items of a list is not a list"),
        ({"kind": "PodList", "apiVersion": "v1", "items": {"a": 1}}, "items of a list"),
        ({"kind": "PodList", "apiVersion": "v1", "items": [5]}, "not a Kubernetes object"),
        (deployment(spec=5), "spec is not an object"),
        (deployment(metadata={"labels": ["a"]}), "metadata.labels is not an object"),
        (deployment(name=""), "metadata.name is missing"),
        (obj("apps/v1", "Deployment", "d"), "metadata.namespace is missing"),
        ({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": 5}, "metadata is not"),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, "metadata is missing"),
        (deployment(status={"conditions": [{"type": "A"}] * 10_000}), "more than 1000 entries"),
        (deployment(status={"replicas": "x" * 1_000_000}), "status.replicas is not"),
        (deployment(metadata={"creationTimestamp": "soon"}), "creationTimestamp"),
    ],
)
def test_malformed_documents_are_skipped_with_a_cause(load, document, cause):
    dump = load(document, deployment("good"))
    assert names(dump, r.DEPLOYMENTS) == ["good"]
    (skip,) = dump.snapshot.skipped
    assert cause in skip.cause
    assert len(skip.cause) < 300


@pytest.mark.parametrize(
    "document",
    [
        deployment(status=None),
        deployment(spec={"replicas": None}),
        deployment(status={"conditions": None}),
        POD | {"status": {"containerStatuses": None, "conditions": None}},
        obj("gateway.networking.k8s.io/v1", "Gateway", "g", namespace="n", status={"listeners": None}),
        {"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": 5, "resources": 5},
        {"apiVersion": "v1", "kind": "APIResourceList", "resources": [5, {"name": 5}]},
        crd(5, spec={"versions": 5}, status={"conditions": [5]}),
        crd("x.y", spec={"versions": [5]}, status=[]),
        {"apiVersion": "v1", "kind": "Status", "details": 5, "reason": 5},
        {"apiVersion": "x/y/z", "kind": "Deployment", "metadata": {"namespace": 5}},
    ],
)  # fmt: skip
def test_odd_documents_never_stop_the_loading(load, document):
    """Null lists, and wrong types in objects of no interest, are put up with."""
    assert "good" in names(load(document, deployment("good")), r.DEPLOYMENTS)


@pytest.mark.parametrize("content", ["", "---\n", "a: [", "5", "text"])
def test_a_dump_without_objects_is_an_error(tmp_path, content):
    """Input without any object is a mistake, and the message names the file."""
    path = tmp_path / "dump.yaml"
    path.write_text(content)
    with pytest.raises(DumpError, match=r"dump\.yaml"):
        load_dump([path], BUILT_IN)


def test_broken_text_costs_no_other_file(tmp_path):
    (tmp_path / "a.yaml").write_text("a: [")
    (tmp_path / "b.json").write_text(json.dumps(deployment()))
    dump = load_dump([tmp_path], BUILT_IN)
    assert names(dump, r.DEPLOYMENTS) == ["d"]
    (skip,) = dump.snapshot.skipped
    assert skip.resource.endswith("a.yaml")
