"""`status-reporter dump -n`: with rights in one namespace, as good as `check -n` there and then."""

import asyncio
import json
import tarfile

import pytest

from lab.sandbox.access import Rule
from lab.sandbox.controllers import running
from reporter.cli.main import main
from reporter.snapshot.documents import read_documents
from tests.unit.conftest import EXAMPLES

NOW = "2026-11-20T12:00:00Z"
NS = "search-models"


def rights(namespace):
    """What a RoleBinding to `view` gives somebody in a namespace, and the Namespace itself."""
    return [
        Rule(verbs=("get", "list"), namespaces=(namespace,)),
        Rule(verbs=("get",), resources=("namespaces",), resource_names=(namespace,)),
    ]


@pytest.fixture(name="tenant")
def _tenant(tmp_path, capsys):
    """A sandbox where a tenant with rights runs commands; gives their answers and the sandbox."""

    async def ask(stack, rules, *commands):
        documents = [each.value for each in read_documents([EXAMPLES / stack])]
        path = tmp_path / "kubeconfig"
        async with running(documents, kubeconfig_path=path, controllers=False) as sandbox:
            sandbox.access.allow_only(rules)
            answers = []
            for command in commands:
                argv = [str(each) for each in (*command, "--kubeconfig", path)]
                status = await asyncio.to_thread(main, argv)
                answers.append((status, *capsys.readouterr()))
            return answers, sandbox.request_log.count(code=403)

    return lambda *asked: asyncio.run(ask(*asked))


def text_of(path):
    with tarfile.open(path) as tar:
        return "".join(tar.extractfile(member).read().decode() for member in tar)


def items(path):
    """Return the objects in the lists of a dump."""
    documents = (each.value for each in read_documents([path]))
    return [item for each in documents for item in each.get("items", ())]


def json_of(answer):
    return json.loads(answer[1])


@pytest.mark.parametrize(
    ("stack", "namespace"),
    [
        ("broken-stack", NS),
        ("healthy-stack", NS),
        ("modelservice/broken", "chat-models"),
        ("modelserving/stuck-role", "kthena-models"),
        ("inferenceservice/failing-load", "kserve-models"),
    ],
)
def test_a_tenant_gets_the_report_of_the_namespace(tenant, run, tmp_path, stack, namespace):
    """The output is the same without `-n`; nothing else was read and nothing else is in the archive."""
    path = tmp_path / "d.tgz"
    outputs = ("json", "text")
    looks = [("check", "-n", namespace, "--now", NOW, "-o", each) for each in outputs]
    (made, *live), refused = tenant(
        stack, rights(namespace), ("dump", "-n", namespace, "-o", path), *looks
    )
    assert (made[0], made[2], refused) == (0, "", 0)
    assert json_of(live[0])["findings"] or stack == "healthy-stack"
    for found, output in zip(live, outputs, strict=True):
        assert run("check", "--from", path, "--now", NOW, "-o", output) == found
    assert {each["metadata"].get("namespace", namespace) for each in items(path)} == {namespace}


@pytest.mark.parametrize(
    ("namespace", "says"),
    [("nowhere", "there is no namespace nowhere; see -n"), ("chat-models", "nothing could be read; forbidden: ")],
)  # fmt: skip
def test_a_wrong_namespace_leaves_no_file(tenant, tmp_path, namespace, says):
    path = tmp_path / "d.tgz"
    rules = [*rights(NS), Rule(verbs=("get", "list"), namespaces=("nowhere",))]
    rules.append(Rule(verbs=("get",), resources=("namespaces",), resource_names=("nowhere",)))
    ((status, out, err),), _ = tenant("broken-stack", rules, ("dump", "-n", namespace, "-o", path))
    assert (status, out, path.exists()) == (2, "", False)
    assert says in err


def test_the_name_of_the_namespace_is_replaced_too(tenant, run, tmp_path):
    plain, other = tmp_path / "plain.tgz", tmp_path / "other.tgz"
    dumps = [("dump", "-n", NS, "-o", plain), ("dump", "-n", NS, "--redact", "-o", other)]
    answers, _ = tenant("broken-stack", rights(NS)[:1], *dumps)
    assert [each[0] for each in answers] == [0, 0]
    assert NS in text_of(plain)
    assert NS not in text_of(other)
    reasons = [
        [(each["reason"], each["disposition"]) for each in json_of(answer)["findings"]]
        for answer in (run("check", "--from", each, "--now", NOW, "-o", "json") for each in (plain, other))
    ]  # fmt: skip
    assert reasons[0] == reasons[1] != []
    assert "get on namespaces/namespace1 in namespace1" in text_of(other)
