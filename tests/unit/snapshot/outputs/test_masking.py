"""Credentials are masked, the same ones alike."""

import pytest

from reporter.snapshot.outputs.masking import Masking


def values(*pairs):
    variables = [{"name": name, "value": value} for name, value in pairs]
    masked = Masking().masked({"env": variables})
    return [each["value"] for each in masked["env"]]


def test_values_of_the_environment():
    """Equal ones stay equal and others differ, so that they can be compared; nothing stays empty or full."""
    one, same, other, empty = values(("A", "word"), ("B", "word"), ("C", "other"), ("D", ""))
    assert one == same != other
    assert one.startswith("masked-")
    assert empty == ""
    assert values(("A", "word")) != values(("A", "word")), "nobody can try words out"


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("VLLM_NIXL_SIDE_CHANNEL_PORT", "5600", "5600"),
        ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio", "parentbased_traceidratio"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317", "http://collector:4317"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:word@collector:4317", "http://collector:4317"),
    ],
)
def test_settings_that_a_rule_compares(name, value, kept):
    assert values((name, value)) == [kept]


@pytest.mark.parametrize("value", ["authorization=Basic aGVsbG86d29ybGQ=", "two words"])
def test_what_else_stands_in_such_a_setting(value):
    assert values(("OTEL_RESOURCE_ATTRIBUTES", value))[0].startswith("masked-")


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        (["--model=m", "--tokenizer", "auto"], ["--model=m", "--tokenizer", "auto"]),
        (["--max-num-batched-tokens=8192"], ["--max-num-batched-tokens=8192"]),
        (["--port", "80", "-v"], ["--port", "80", "-v"]),
    ],
)
def test_arguments_stay(arguments, kept):
    assert Masking().masked({"args": arguments})["args"] == kept


@pytest.mark.parametrize(
    "arguments",
    [
        ["--api-key", "word"],
        ["--api-key=word"],
        ["--hf-token=word"],
        ["--db-passphrase=word"],
        ["sh", "-c", "serve --api-key word --port 80"],
        ["-password", "word"],
        ["--header", "Bearer wordwordword"],
    ],
)
def test_credentials_in_arguments(arguments):
    masking = Masking()
    masked = masking.masked({"args": arguments})["args"]
    assert "word" not in " ".join(masked).replace("-password", "")
    assert masked == masking.masked({"args": arguments})["args"]
    assert (
        masked
        != masking.masked({"args": [each.replace("word", "other") for each in arguments]})["args"]
    )


def test_values_under_the_key_of_a_credential():
    """Annotations are chosen by users; names of Secrets stay, for rules look for them."""
    masked = Masking().masked(
        {"annotations": {"example/api-token": "word"}, "secretName": "s", "imagePullSecrets": ["p"]}
    )
    assert masked["annotations"]["example/api-token"].startswith("masked-")
    assert (masked["secretName"], masked["imagePullSecrets"]) == ("s", ["p"])


@pytest.mark.parametrize(
    ("mesh", "kept"),
    [
        ("extensionProviders:\n- name: a\n  envoyExtAuthzGrpc: {service: s}\nrootNamespace: x\n", 'extensionProviders:\n- name: "a"\n'),
        ("rootNamespace: x\n", "{}"),
        ("extensionProviders: []\n", "extensionProviders: []\n"),
        ("extensionProviders: x\n", "extensionProviders: 1"),
        ("a: [", "{"),
        ("- a", "[]"),
        ("", ""),
    ],
)  # fmt: skip
def test_of_the_mesh_only_the_names_of_providers(mesh, kept):
    """What cannot be read stays unreadable, without its words."""
    assert Masking().masked({"data": {"mesh": mesh}}) == {"data": {"mesh": kept}}


@pytest.mark.parametrize("name", ["X-Api-Key", "Authorization", "access-token"])
def test_a_value_whose_name_is_of_a_credential(name):
    """As headers that a route sets have it; a value that is no text stays."""
    masked = Masking().masked({"set": [{"name": name, "value": "hunter2hunter2"}]})
    assert masked["set"][0]["name"] == name
    assert masked["set"][0]["value"].startswith("masked-")
    assert Masking().masked({"name": name, "value": 1}) == {"name": name, "value": 1}


def test_headers_of_probes():
    """Whatever their names: no rule reads them, and whoever probes must be let in."""
    probe = {"httpGet": {"httpHeaders": [{"name": "X-Let-Me-In", "value": "hunter2hunter2"}]}}
    assert "hunter2" not in str(Masking().masked({"livenessProbe": probe}))


def test_what_volumes_are_made_from():
    """Names of Secrets, ConfigMaps and claims stay; of drivers it is masked, and what differs differs still."""
    named = [
        {"name": "a", "emptyDir": {"medium": "Memory"}},
        {"name": "b", "secret": {"secretName": "s", "items": [{"key": "k", "path": "p"}]}},
        {"name": "c", "configMap": {"name": "c", "optional": True}},
        {"name": "d", "persistentVolumeClaim": {"claimName": "d"}},
    ]
    masking = Masking()
    assert masking.masked({"volumes": named}) == {"volumes": named}

    def driver(user):
        source = {"driver": "blob", "volumeAttributes": {"user": user}, "readOnly": True}
        (volume,) = masking.masked({"volumes": [{"name": "e", "csi": source}]})["volumes"]
        return volume

    one, same, other = driver("hunter2"), driver("hunter2"), driver("another")
    assert one == same != other
    assert one["name"] == "e"
    assert one["csi"]["readOnly"] is True
    assert "hunter2" not in str(one)
