"""`otterscale-operator-flags`: what is taken, and what each mistake is told as."""

import pytest

from reporter.cli.configure import load_settings
from reporter.cli.main import main
from reporter.errors import UsageError

TEXT = (
    "default-epp-image=epp:new, tracing-enabled=true,tracing-sampler-arg=0.10,"
    "tracing-otel-endpoint=http://otel:4317/?a=b,default-gateway-name="
)
GIVEN = {
    "default_epp_image": "epp:new", "tracing_enabled": True, "tracing_sampler_arg": "0.10",
    "tracing_otel_endpoint": "http://otel:4317/?a=b", "default_gateway_name": "",
}  # fmt: skip
FORMS = [
    f"otterscale-operator-flags: '{TEXT}'",
    """\
otterscale-operator-flags:
  default-epp-image: epp:new
  tracing-enabled: true
  tracing-sampler-arg: "0.10"
  tracing-otel-endpoint: http://otel:4317/?a=b
  default-gateway-name: ""
""",
]


def test_as_a_flag_and_in_the_environment(monkeypatch):
    assert load_settings({"otterscale_operator_flags": TEXT}).operator_given == GIVEN
    monkeypatch.setenv("STATUS_REPORTER_OTTERSCALE_OPERATOR_FLAGS", TEXT)
    assert load_settings({}).operator_given == GIVEN


@pytest.mark.parametrize("content", FORMS, ids=["text", "mapping"])
def test_in_the_file(tmp_path, content):
    path = tmp_path / "settings.yaml"
    path.write_text(content)
    assert load_settings({}, str(path)).operator_given == GIVEN


def test_a_value_with_commas_in_the_file(tmp_path):
    path = tmp_path / "settings.yaml"
    argument = "endpoint=http://jaeger:14250,pollingIntervalMs=5000"
    path.write_text(
        f"otterscale-operator-flags: {{tracing-enabled: true, tracing-sampler-arg: '{argument}'}}"
    )
    assert load_settings({}, str(path)).operator_given["tracing_sampler_arg"] == argument


BOMB = (
    "["
    + ", ".join(f"&a{n} [{', '.join([f'*a{n - 1}' if n else 'x'] * 9)}]" for n in range(6))
    + "]"
)
"""A text that is short here, and in full has more than half a million values."""

WRONG = [
    ("default-epp-images=a", "'default-epp-images' is not a flag that is compared; did you mean default-epp-image?"),
    ("version=v1", "'version' is not a flag that is compared"),
    ("provider=nginx", "provider is one of istio, gke, none, not 'nginx'"),
    ("default_epp_image=a", "'default_epp_image' is not a flag that is compared; did you mean default-epp-image?"),
    ("default-epp-image", "'default-epp-image' has no ="),
    ("default-epp-image=", "default-epp-image is empty"),
    ("default-engine-image=a b", "default-engine-image has a space or a control character: 'a b'"),
    ("metrics-endpoint-auth=yes", "metrics-endpoint-auth is true or false, not 'yes'"),
    ("tracing-enabled=", "tracing-enabled is true or false, not ''"),
    ("default-gateway-name=A/b", "default-gateway-name is the name of a Gateway, or empty, not 'A/b'"),
    ("tracing-sampler=always_on", "tracing-sampler needs tracing-enabled as well"),
    ("tracing-otel-endpoint=x,default-epp-image=a", "tracing-otel-endpoint needs tracing-enabled as well"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "why"), WRONG)
def test_what_is_refused(text, why):
    with pytest.raises(UsageError) as refused:
        load_settings({"otterscale_operator_flags": text})
    (line,) = str(refused.value).splitlines()
    assert line.startswith("--otterscale-operator-flags: ")
    assert f"({why}" in line
    assert "allowed: FLAG=VALUE, comma-separated, with metrics-endpoint-auth, default-gate" in line


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{tracing-enabled: true, tracing-sampler-arg: 0.10}", "tracing-sampler-arg is not text; put it in quotes"),
        ("{default-epp-image: }", "default-epp-image has no value"),
        ("{default-epp-image: [a]}", "default-epp-image is not text; put it in quotes"),
        (f"{{default-epp-image: {BOMB}}}", "default-epp-image is not text; put it in quotes"),
        ("7", ""),
    ],
)  # fmt: skip
def test_what_is_refused_in_the_file(tmp_path, content, why):
    path = tmp_path / "settings.yaml"
    path.write_text(f"otterscale-operator-flags: {content}")
    with pytest.raises(UsageError) as refused:
        load_settings({}, str(path))
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"otterscale-operator-flags in {path}: ")
    assert why in line


def test_check_takes_the_flag_as_run_does(capsys):
    assert main(["check", "--otterscale-operator-flags", "kit-imag=x"]) == 2
    assert "did you mean kit-image?" in capsys.readouterr().err
