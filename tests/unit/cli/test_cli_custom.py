"""`check` with a file that declares components."""

import json
import re
import shlex

import pytest
import yaml

from tests.tables import rows

CERTIFICATE = {
    "group": "cert-manager.io", "version": "v1", "plural": "certificates", "kind": "Certificate",
    "type": "Ready",
}  # fmt: skip
COMPONENTS = [
    {
        "reason": "clusterVectorStoreNotReady",
        "layer": "cluster",
        "workload": {"kind": "StatefulSet", "name": "qdrant", "namespaces": ["vectors"]},
    },
    {"reason": "clusterCertificateNotReady", "layer": "cluster", "condition": CERTIFICATE},
]
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vectors"}}
SINCE = "2026-11-20T11:00:00Z"


def statefulset(ready: int) -> dict:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "qdrant", "namespace": "vectors", "creationTimestamp": SINCE},
        "spec": {"replicas": 2},
        "status": {"readyReplicas": ready, "availableReplicas": ready},
    }


def certificate(status: str) -> dict:
    condition = {"type": "Ready", "status": status, "lastTransitionTime": SINCE}
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": "edge", "namespace": "vectors"},
        "status": {"conditions": [condition]},
    }


@pytest.fixture(name="check")
def _check(run, tmp_path):
    def check(*documents, components=COMPONENTS, options=("-o", "json")):
        config = tmp_path / "config.yaml"
        config.write_text(yaml.safe_dump({"custom-components": components}))
        dump = tmp_path / "dump.yaml"
        dump.write_text(yaml.safe_dump_all(documents))
        now = ("--now", "2026-11-20T12:00:00Z")
        return run("check", "--config", config, "--from", dump, *now, *options)

    return check


@rows(
    ("documents", "told"),
    {
        "well": ([NAMESPACE, statefulset(2), certificate("True")], []),
        "down": (
            [NAMESPACE, statefulset(0), certificate("True")],
            ["StatefulSet vectors/qdrant is down: not all pods are ready, 0/2 ready"],
        ),
        "a kind that is not in the dump is unknown, not missing": (
            [NAMESPACE, certificate("False")],
            ["Certificate vectors/edge: Ready is False"],
        ),
    },
)
def test_what_is_declared_is_judged(check, documents, told):
    """A dump of nothing else is enough: the cluster is judged by what was declared."""
    status, out, _ = check(*documents)
    report = json.loads(out)
    assert [each["message"] for each in report["findings"]] == told
    assert status == (1 if told else 0)


def crds(name: str) -> dict:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinitionList",
        "items": [{"metadata": {"name": name}}],
    }


@rows(
    ("served", "note"),
    {
        "misspelt": ("certificatess.cert-manager.io", "; did you mean certificatess.cert-manager.io?"),
        "not installed": ("widgets.example.com", ", so it reports nothing."),
        "served": ("certificates.cert-manager.io", None),
    },
)  # fmt: skip
def test_a_declared_kind_that_is_not_served_is_noted(check, served, note):
    """Else a misspelt name would be silent for ever."""
    _, out, _ = check(NAMESPACE, statefulset(2), crds(served), options=("-o", "text"))
    said = "clusterCertificateNotReady: certificates.cert-manager.io is not served"
    text = " ".join(out.split())
    assert (f"{said}{note}" in text) if note else (said not in text)


def test_a_dump_in_which_nothing_declared_was_looked_at_judges_nothing(check):
    status, _, err = check({**NAMESPACE, "metadata": {"name": "other"}})
    assert status == 2
    (line,) = [each for each in err.splitlines() if "for kind in crd " in each]
    assert {"statefulsets.apps", "certificates.cert-manager.io"} <= set(re.split(r"[ ;]", line))


def test_the_commands_are_for_a_shell_and_give_each_kind_one_file(check):
    """Selectors are quoted; what two rules select differently is read as a whole."""
    selected = CERTIFICATE | {"selector": "tier in (a, b)"}
    pods = {
        "group": "", "version": "v1", "plural": "pods", "kind": "Pod", "type": "Audited",
        "selector": "audit=yes",
    }  # fmt: skip
    issuers = CERTIFICATE | {"plural": "issuers", "kind": "Issuer"}
    components = [
        {
            "reason": f"clusterIssuer{tier}NotReady",
            "layer": "cluster",
            "condition": issuers | {"selector": f"tier={tier}"},
        }
        for tier in "ab"
    ]
    components += [
        {"reason": "clusterCertificateNotReady", "layer": "cluster", "condition": selected},
        {"reason": "clusterPodNotAudited", "layer": "cluster", "condition": pods},
    ]
    _, _, err = check({**NAMESPACE, "metadata": {"name": "other"}}, components=components)
    loops = [each for each in err.splitlines() if each.strip().startswith("for kind in ")]
    kinds = [kind for each in loops for kind in re.findall(r"for kind in (.*?);", each)[0].split()]
    assert len(kinds) == len(set(kinds))
    (line,) = [each for each in loops if "certificates.cert-manager.io" in each]
    words = shlex.split(line, posix=True)
    assert words[words.index("-l") + 1] == "tier in (a, b)"
    (plain,) = [each for each in loops if " -l " not in each]
    assert {"pods", "issuers.cert-manager.io"} <= set(re.split(r"[ ;]", plain))
