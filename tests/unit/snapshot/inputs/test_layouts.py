"""Dumps in the forms that people send are the same cluster, whatever wrote and packed them."""

import io
import json

import pytest

from reporter.catalogue import resources as r
from reporter.snapshot.dump import load_dump
from reporter.snapshot.snapshot import Served
from reporter.stacks import BUILT_IN
from reporter.stacks.kaito.reasons import INFERENCESETS, WORKSPACES
from tests.unit.snapshot.inputs import layouts as forms

ITEMS = forms.objects_of(forms.EXAMPLES / "broken-stack")
EVERY = {str(each) for each in BUILT_IN.resources}
OF_CLUSTER_INFO = {"nodes", "pods", "services", "deployments.apps"}


def load(*sources):
    return load_dump(sources, BUILT_IN)


def contents(dump, resources=frozenset(EVERY)):
    """Return what a dump says of some resources: their states and objects."""
    return {
        str(each): (dump.snapshot.state(each).served, tuple(dump.snapshot[each]))
        for each in dump.snapshot.states
        if str(each) in resources
    }


WANTED = load(forms.EXAMPLES / "broken-stack")

LAYOUTS = {
    "plain": lambda: {"dump.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": ITEMS})},
    "must-gather": lambda: forms.must_gather(ITEMS),
    "support bundle": lambda: forms.support_bundle(ITEMS),
    "support bundle, old": lambda: forms.support_bundle(ITEMS, ending="yaml", typed=False),
}  # fmt: skip

PACKED = {
    "tgz": forms.tar_of,
    "tar": lambda files: forms.tar_of(files, compressed=False),
    "zip": forms.zip_of,
    "zip of a tgz": lambda files: forms.zip_of({"bundle.tar.gz": forms.tar_of(files)}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("packing", PACKED)
def test_archives_of_each_tool(tmp_path, layout, packing):
    """An archive is told by what it holds, and says what the plain dump says."""
    path = tmp_path / "from-somebody"
    path.write_bytes(PACKED[packing](LAYOUTS[layout]()))
    dump = load(path)
    found = contents(dump)
    for name, known in contents(WANTED).items():
        if known[0] is Served.SERVED and known[1]:
            assert found[name] == known
    assert dump.snapshot.skipped == WANTED.snapshot.skipped


@pytest.mark.parametrize("layout", LAYOUTS)
def test_folders_of_each_tool(tmp_path, layout):
    """An unpacked bundle is the same, and its other files are nobody's mistake."""
    dump = load(forms.write_folder(tmp_path, LAYOUTS[layout]()))
    found = contents(dump)
    for name, known in contents(WANTED).items():
        if known[0] is Served.SERVED and known[1]:
            assert found[name] == known
    assert dump.snapshot.skipped == WANTED.snapshot.skipped


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_cluster_info_dump(tmp_path, monkeypatch, ending):
    """The folder, the stream in a file, in gzip and on standard input: logs between lists hold nothing."""
    stream = forms.cluster_info_stream(ITEMS, ending).encode()
    (tmp_path / "stream.gz").write_bytes(forms.gzip_of(stream))
    (tmp_path / "stream").write_bytes(stream)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stream)))
    folder = forms.write_folder(tmp_path / "folder", forms.cluster_info(ITEMS, ending))
    wanted = contents(WANTED, OF_CLUSTER_INFO)
    for source in (folder, tmp_path / "stream", tmp_path / "stream.gz", "-"):
        dump = load(source)
        assert contents(dump, OF_CLUSTER_INFO) == wanted
        assert dump.snapshot.skipped == ()


def test_logs_that_are_not_text(tmp_path):
    """What a container wrote is cut out before anything is decoded."""
    log = forms.logs("n", "p").encode().replace(b"starting", b"\xff\xfe\x00\x80")
    pods = [item for item in ITEMS if item["kind"] == "Pod"]
    (tmp_path / "stream").write_bytes(
        log + json.dumps(forms.typed_list(pods)).encode() + b"\n" + log
    )
    assert len(load(tmp_path / "stream").snapshot[r.PODS]) == len(pods)


def test_a_log_that_was_cut_off_takes_the_rest(tmp_path):
    """Behind the start of a log without an end nothing can be told from the log."""
    nodes = forms.cluster_info(ITEMS)["nodes.json"]
    stream = f"{nodes}\n==== START logs for container main of pod n/p ====\nwords\n{nodes}"
    (tmp_path / "stream").write_text(stream)
    dump = load(tmp_path / "stream")
    assert len(dump.snapshot[r.NODES]) == len(WANTED.snapshot[r.NODES])
    assert dump.snapshot.skipped == ()


def test_what_a_support_bundle_could_not_list_is_unknown(tmp_path):
    """A list that failed in one namespace proves nothing of the kind in others."""
    errors = {
        "deployments": {"team-a": 'deployments.apps is forbidden: User "u" cannot list resource'},
        "custom-resources/custom-resources": {"workspaces.kaito.sh": "context deadline exceeded"},
        "pods": {},
    }
    files = forms.support_bundle(ITEMS, errors=errors)
    snapshot = load(forms.write_folder(tmp_path, files)).snapshot
    assert snapshot.state(r.DEPLOYMENTS).cause == "forbidden"
    assert snapshot.state(WORKSPACES).cause == "internal error"
    assert snapshot.known(r.PODS)


def test_a_kind_without_objects_in_a_support_bundle(tmp_path):
    """Custom resources are listed by definition: where others were collected, no file means none."""
    items = [each for each in ITEMS if each["kind"] != "Workspace"]
    snapshot = load(forms.write_folder(tmp_path / "some", forms.support_bundle(items))).snapshot
    assert snapshot.state(WORKSPACES).served is Served.SERVED
    none = [each for each in items if each["kind"] in forms.CORE or "Definition" in each["kind"]]
    snapshot = load(forms.write_folder(tmp_path / "none", forms.support_bundle(none))).snapshot
    assert snapshot.state(INFERENCESETS).served is Served.UNKNOWN


def test_discovery_of_a_support_bundle(tmp_path):
    """Which kinds are served is believed unless a part of the answer failed."""
    files = {
        "cluster-resources/nodes.json": json.dumps(
            forms.typed_list([n for n in ITEMS if n["kind"] == "Node"])
        ),
        "cluster-resources/resources.json": json.dumps(
            [
                {"groupVersion": "v1", "resources": [{"name": "pods"}]},
                {"groupVersion": "kaito.sh/v1beta1", "resources": [{"name": "workspaces"}]},
            ]
        ),
    }
    discovery = load(forms.write_folder(tmp_path, files)).snapshot.discovery
    assert discovery.state("workspaces.kaito.sh") is Served.SERVED
    assert discovery.state("gateways.gateway.networking.k8s.io") is Served.ABSENT
    files["cluster-resources/groups-resources-errors.json"] = (
        '["unable to retrieve the server APIs"]'
    )
    assert load(forms.write_folder(tmp_path, files)).snapshot.discovery.served is None


def test_pages_of_metrics_in_an_archive(tmp_path):
    node = json.dumps(next(item for item in ITEMS if item["kind"] == "Node"))
    for place in ("", "dump/"):
        files = {f"{place}a.json": node, f"{place}metrics/n/p/100.prom": "up 1\n"}
        path = tmp_path / "dump.tgz"
        path.write_bytes(forms.tar_of(files))
        (page,) = load(path).pages
        assert (page.path.parts[-3:], page.raw) == (("n", "p", "100.prom"), b"up 1\n")
