"""How the cluster is found and how we authenticate."""

import asyncio
import json
import stat
from pathlib import Path

import certifi
import pytest
from aiohttp import web

from reporter.kube.client import connect
from reporter.kube.credentials import Credentials, InCluster, Kubeconfig, choose_source, library
from reporter.kube.errors import ConfigurationError, Unauthorized
from tests.unit.kube.scripted import kubeconfig, serving, status

IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    home = tmp_path / "home"
    (home / ".kube").mkdir(parents=True)
    made = {"home": home, "default": home / ".kube" / "config"}
    for name in ("flag", "environment", "token"):
        made[name] = tmp_path / name
        made[name].touch()
    made["default"].touch()
    return made


@pytest.mark.parametrize(
    ("flag", "environment", "context", "wanted"),
    [
        ("flag", {"KUBECONFIG": "environment", **IN_CLUSTER}, None, "flag"),
        (None, {"KUBECONFIG": "environment", **IN_CLUSTER}, None, "environment"),
        (None, {"KUBECONFIG": "absent:environment"}, None, "environment"),
        (None, IN_CLUSTER, None, "in cluster"),
        (None, IN_CLUSTER, "named", "default"),
        (None, {}, None, "default"),
    ],
)
def test_where_the_configuration_comes_from(files, flag, environment, *, context, wanted):
    """The flag wins over KUBECONFIG, that over the service account, that over the home folder."""
    environment = dict(environment)
    if "KUBECONFIG" in environment:
        parts = environment["KUBECONFIG"].split(":")
        environment["KUBECONFIG"] = ":".join(str(files.get(part, part)) for part in parts)
    source = choose_source(
        files[flag] if flag else None,
        context,
        environment,
        home=files["home"],
        service_account=files["token"],
    )
    if wanted == "in cluster":
        assert isinstance(source, InCluster)
    else:
        assert isinstance(source, Kubeconfig)
        assert str(files[wanted]) in source._paths


@pytest.mark.parametrize(
    ("flag", "environment", "hint"),
    [
        (Path("/nowhere/config"), {}, "--kubeconfig /nowhere/config"),
        (None, {"KUBECONFIG": "/nowhere/config"}, "KUBECONFIG names /nowhere/config"),
        (None, {}, "no cluster"),
    ],
)
def test_nothing_to_connect_to(tmp_path: Path, flag, environment, *, hint):
    """The message names the setting that points nowhere."""
    with pytest.raises(ConfigurationError, match=hint):
        choose_source(flag, None, environment, home=tmp_path, service_account=tmp_path / "no")


@pytest.mark.parametrize(
    "text",
    ["", "[", "5", "a: b", "contexts: []", "current-context: x", "\x00", "clusters: {}\nusers: 5"],
)
async def test_a_broken_kubeconfig_is_one_error(tmp_path: Path, text: str):
    """Whatever the library makes of the file, one error says where to look."""
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match="--kubeconfig"):
        await connect(kubeconfig=path)


async def test_an_unknown_context_is_named(tmp_path: Path):
    path = kubeconfig(tmp_path / "config", "http://127.0.0.1")
    with pytest.raises(ConfigurationError, match="elsewhere"):
        await connect(kubeconfig=path, context="elsewhere")


def plugin(path: Path, script: str) -> dict[str, object]:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(path)}}


def credential(token: str) -> str:
    answer = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": token},
    }
    return f"echo '{json.dumps(answer)}'"


async def test_a_failing_plugin_tells_no_secret(tmp_path: Path, caplog):
    """What a plugin writes to stderr is shown without the credentials in it."""
    user = plugin(tmp_path / "plugin", "echo 'token=abcdefgh1234 is bad' >&2; exit 3")
    path = kubeconfig(tmp_path / "config", "http://127.0.0.1", user)
    with pytest.raises(ConfigurationError, match="returned 3") as caught:
        await connect(kubeconfig=path)
    assert "abcdefgh1234" not in str(caught.value)
    assert "abcdefgh1234" not in caplog.text


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("no-such-plugin", "no-such-plugin: No such file or directory; install this credential plugin"),
        ("/no/such/plugin", "/no/such/plugin: No such file or directory; check --kubeconfig"),
    ],
    ids=["on PATH", "by its path"],
)  # fmt: skip
async def test_a_plugin_that_is_not_installed(tmp_path: Path, command, told):
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": command}}
    path = kubeconfig(tmp_path / "config", "http://127.0.0.1", user)
    with pytest.raises(ConfigurationError, match=told):
        await connect(kubeconfig=path)


async def test_a_plugin_that_hangs_is_given_up(monkeypatch):

    class Hanging:
        async def load(self):
            await asyncio.Event().wait()

    monkeypatch.setattr("reporter.kube.credentials._LOAD_SECONDS", 0.05)
    with pytest.raises(ConfigurationError, match="did not finish"):
        await Credentials.load(Hanging())


async def test_a_plugin_is_run_again_when_its_token_is_refused(tmp_path: Path, monkeypatch):
    """The token of a plugin is used until the server refuses it, and then asked for again."""
    monkeypatch.setattr("reporter.kube.credentials._RELOAD_SECONDS", 0.0)
    seen = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return status(401, "Unauthorized") if seen[-1] == "Bearer one" else web.json_response({})

    async with serving(handler) as server:
        user = plugin(tmp_path / "plugin", credential("one"))
        path = kubeconfig(tmp_path / "config", server, user)
        async with await connect(kubeconfig=path) as client:
            plugin(tmp_path / "plugin", credential("two"))
            await client.request("GET", "/", verb="get", resource="x")
    assert seen == ["Bearer one", "Bearer two"]


async def test_a_401_that_lasts_reloads_once(tmp_path: Path):
    """Credentials that stay refused are not loaded again for every request."""
    loads = tmp_path / "loads"
    async with serving(lambda _: status(401, "Unauthorized")) as server:
        user = plugin(tmp_path / "plugin", f"echo x >> {loads}; {credential('one')}")
        path = kubeconfig(tmp_path / "config", server, user)
        async with await connect(kubeconfig=path) as client:
            asked = [client.request("GET", "/", verb="get", resource="x") for _ in range(20)]
            answers = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(answer) for answer in answers} == {Unauthorized}
    assert len(loads.read_text().split()) <= 2


async def test_in_cluster(tmp_path: Path, monkeypatch):
    """The mounted token is sent without its newline, to the address that the kubelet gives."""
    incluster_config = library().config.load_incluster_config.__globals__
    (tmp_path / "token").write_text("mounted\n")
    monkeypatch.setitem(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setitem(incluster_config, "SERVICE_CERT_FILENAME", certifi.where())
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(
        "reporter.kube.client.choose_source", lambda kubeconfig, context: InCluster()
    )
    async with await connect() as client:
        assert client.server == "https://10.0.0.1"
        assert await client._credentials.headers() == {"Authorization": "Bearer mounted"}


@pytest.mark.parametrize("content", [None, "no certificate"])
async def test_certificates_that_cannot_be_used(tmp_path: Path, content):
    authority = tmp_path / "ca.crt"
    if content is not None:
        authority.write_text(content)
    path = kubeconfig(tmp_path / "config", "https://127.0.0.1")
    document = json.loads(path.read_text())
    document["clusters"][0]["cluster"]["certificate-authority"] = str(authority)
    path.write_text(json.dumps(document))
    with pytest.raises(ConfigurationError, match="kubeconfig"):
        await connect(kubeconfig=path)


CERTIFICATE = {"client-certificate": "file", "client-key": "file"}


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ({"token": "secret"}, "the token of user u in "),
        ({"tokenFile": "file"}, "the token file of user u in "),
        (CERTIFICATE, "the client certificate of user u in "),
        ({"username": "me", "password": "secret"}, "the password of user u in "),
        ({}, "nothing is presented"),
    ],
)
async def test_what_is_to_be_renewed_is_named(tmp_path: Path, user, says):
    """The user of the kubeconfig and what it presents, and nothing of its value."""
    (tmp_path / "file").write_text("secret")
    path = kubeconfig(tmp_path / "config", "http://127.0.0.1:1", user)
    source = Kubeconfig(str(path), None)
    await source.load()
    said = source.renewal()
    assert said.startswith(says)
    assert str(path) in said
    assert "secret" not in said


async def test_of_a_plugin_what_to_log_in_with_is_named(tmp_path: Path):
    user = plugin(tmp_path / "cloud-login", credential("secret"))
    source = Kubeconfig(str(kubeconfig(tmp_path / "config", "http://127.0.0.1:1", user)), None)
    await source.load()
    assert source.renewal().startswith(f"log in again with what `{tmp_path / 'cloud-login'}` asks")
