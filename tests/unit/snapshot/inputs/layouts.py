"""The same objects in the layouts of the tools that people collect with, and packed in all ways."""

import gzip
import io
import json
import tarfile
import zipfile
from collections import defaultdict
from pathlib import Path

import yaml

from reporter.snapshot.documents import Document, read_documents

EXAMPLES = Path(__file__).parents[4] / "examples"


def objects_of(folder):
    """Return the objects of an example, each once and by itself."""
    found = []
    for document in read_documents([folder]):
        assert isinstance(document, Document)
        found += document.value.get("items", [document.value])
    return found


def group_of(item):
    return item["apiVersion"].rpartition("/")[0]


def namespace_of(item):
    return item["metadata"].get("namespace", "")


def plural_of(item):
    kind = item["kind"].lower()
    if kind.endswith("y"):
        return f"{kind[:-1]}ies"
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"


def by(items, key):
    groups = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups


def as_yaml(value):
    return "---\n" + yaml.safe_dump(value)


def typed_list(items, *, bare_items=False):
    """Return a list as the API server's types have it; Go's typed clients leave out what items are."""
    version, kind = items[0]["apiVersion"], items[0]["kind"]
    if bare_items:
        items = [
            {key: each for key, each in item.items() if key not in {"kind", "apiVersion"}}
            for item in items
        ]
    metadata = {"resourceVersion": "7"}
    return {"apiVersion": version, "items": items, "kind": f"{kind}List", "metadata": metadata}


def must_gather(items):
    """Write as `oc adm must-gather` does.

    openshift/oc, pkg/cli/admin/inspect: resource.go and util.go (dirPathForInfo, filenameForInfo) for objects and
    lists, namespace.go and pod.go for what is gathered of each namespace, and what containers answer.
    """
    root = "must-gather.local.4021/quay-io-openshift-release-dev-sha256-1a2b"
    files = {
        f"{root}/version": "openshift/must-gather\n4.16.3\n",
        f"{root}/timestamp": "2026-11-20 12:00:00.1 +0000 UTC m=+0.1\n",
        f"{root}/event-filter.html": "<html></html>",
        f"{root}/monitoring/prometheus/rules.json": '{"status":"success","data":{"groups":[]}}',
        f"{root}/network_logs/cluster_scale": "pods: 3\n",
    }
    for namespace, inside in by(items, namespace_of).items():
        for (group, plural), alike in by(inside, lambda i: (group_of(i), plural_of(i))).items():
            place = f"namespaces/{namespace}" if namespace else "cluster-scoped-resources"
            folder = f"{root}/{place}/{group or 'core'}"
            if namespace and group in {"", "apps"}:
                files[f"{folder}/{plural}.yaml"] = as_yaml(typed_list(alike))
            else:
                for item in alike:
                    name = item["metadata"]["name"]
                    files[f"{folder}/{plural}/{name}.yaml"] = as_yaml(item)
                    if plural == "namespaces":
                        files[f"{root}/namespaces/{name}/{name}.yaml"] = as_yaml(item)
            for pod in alike if plural == "pods" else ():
                if pod.get("status", {}).get("phase") == "Running":
                    name = pod["metadata"]["name"]
                    folder_of_pod = f"{root}/namespaces/{namespace}/pods/{name}"
                    files[f"{folder_of_pod}/{name}.yaml"] = as_yaml(pod)
                    files[f"{folder_of_pod}/main/main/logs/current.log"] = "kind: [\n"
                    files[f"{folder_of_pod}/main/main/metrics.json"] = "# HELP up\nup 1\n"
                    files[f"{folder_of_pod}/main/main/healthz/index.yaml"] = "ok"
    return files


CORE = ("Namespace", "Node", "Pod", "Service", "Deployment", "ConfigMap", "Event")


def support_bundle(items, *, ending="json", typed=True, errors=None):
    """Write as `kubectl support-bundle` does.

    replicatedhq/troubleshoot, pkg/collect/cluster_resources.go, v0.133.0; with `ending="yaml"` and `typed=False` what
    older ones write: bare lists, custom resources as YAML.
    """
    root = "support-bundle-2026-11-20T12_00_00"
    place = f"{root}/cluster-resources"
    files = {
        f"{root}/version.yaml": "apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\n",
        f"{root}/analysis.json": '[{"name": "node.count.check", "severity": "warn"}]',
        f"{root}/cluster-info/cluster_version.json": '{"info": {"major": "1"}, "string": "v1.33.1"}',
        f"{place}/auth-cani-list/default.json": '[{"verbs": ["*"], "resources": ["*"]}]',
        f"{place}/groups.json": '[{"name": "", "versions": [{"version": "v1"}]}]',
        f"{place}/pods/logs/default/a/main.log": "kind: [\n",
    }
    for kind, alike in by(items, lambda item: item["kind"]).items():
        if kind in CORE:
            for namespace, inside in by(alike, namespace_of).items():
                name = plural_of(inside[0])
                file = f"{name}/{namespace}.json" if namespace else f"{name}.json"
                bare = typed_list(inside, bare_items=True)["items"]
                value = typed_list(inside) if typed else bare
                files[f"{place}/{file}"] = json.dumps(value, indent=2)
        elif kind == "CustomResourceDefinition":
            files[f"{place}/custom-resource-definitions.json"] = json.dumps(typed_list(alike))
        else:
            crd = f"{plural_of(alike[0])}.{group_of(alike[0])}"
            for namespace, inside in by(alike, namespace_of).items():
                name = f"{place}/custom-resources/{crd}" + (f"/{namespace}" if namespace else "")
                text = json.dumps(inside) if ending == "json" else yaml.safe_dump(inside)
                files[f"{name}.{ending}"] = text
    for name, value in (errors or {}).items():
        files[f"{place}/{name}-errors.json"] = json.dumps(value)
    return files


def cluster_info(items, ending="json"):
    """Write as `kubectl cluster-info dump -A --output-directory` does.

    kubernetes/kubernetes, staging/src/k8s.io/kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go.
    """
    write = (lambda value: json.dumps(value, indent=4)) if ending == "json" else yaml.safe_dump
    nodes = [item for item in items if item["kind"] == "Node"]
    files = {f"nodes.{ending}": write(typed_list(nodes, bare_items=True))}
    for namespace, inside in by(items, namespace_of).items():
        for kind in ("Event", "Service", "Deployment", "Pod"):
            alike = [item for item in inside if item["kind"] == kind]
            version = "apps/v1" if kind == "Deployment" else "v1"
            empty = {"apiVersion": version, "items": [], "kind": f"{kind}List", "metadata": {}}
            value = typed_list(alike, bare_items=True) if alike else empty
            if namespace:
                files[f"{namespace}/{kind.lower()}s.{ending}"] = write(value)
        for pod in inside:
            if pod["kind"] == "Pod":
                name = pod["metadata"]["name"]
                files[f"{namespace}/{name}/logs.txt"] = logs(namespace, name)
    return files


def logs(namespace, pod):
    """Return the logs of a pod of one container, as they stand in the dump."""
    which = f"logs for container main of pod {namespace}/{pod} ===="
    words = 'starting\n{"kind": "Pod", "apiVersion": "v1"}\n---\nkind: Pod\napiVersion: v1\n[no end'
    return f"==== START {which}\n{words}==== END {which}\n"


def cluster_info_stream(items, ending="json"):
    """Write as `kubectl cluster-info dump -A` does: everything in a row."""
    files = cluster_info(items, ending)
    first = f"nodes.{ending}"
    parts = [files.pop(first)]
    for name, text in files.items():
        separator = "---\n" if ending == "yaml" and not name.endswith(".txt") else ""
        parts.append(separator + text)
    return "\n".join(part.rstrip("\n") for part in parts) + "\n"


def write_folder(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def tar_of(files, *, compressed=True, links=()):
    """Return a tar; `links` are pairs of a name and what it points to."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz" if compressed else "w") as tar:
        for name, text in files.items():
            raw = text if isinstance(text, bytes) else text.encode()
            header = tarfile.TarInfo(name)
            header.size = len(raw)
            tar.addfile(header, io.BytesIO(raw))
        for name, target in links:
            header = tarfile.TarInfo(name)
            header.type, header.linkname = tarfile.SYMTYPE, target
            tar.addfile(header)
    return buffer.getvalue()


def zip_of(files, *, links=()):
    """Return a zip; `links` are pairs of a name and what it points to."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        for name, target in links:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o120777 << 16
            archive.writestr(entry, target)
    return buffer.getvalue()


def gzip_of(text):
    return gzip.compress(text if isinstance(text, bytes) else text.encode())
