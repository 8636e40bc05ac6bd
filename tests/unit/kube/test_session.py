"""Which proxy requests to the API server go through, as for kubectl."""

import pytest

from reporter.kube.client import environment_proxy

PROXY = "http://proxy:3128"

CASES = [
    ("https://api.example:6443", "", PROXY),
    ("http://api.example", "", "http://plain:3128"),
    ("https://127.0.0.1:6443", "", None),
    ("https://localhost:6443", "", None),
    ("https://[::1]:6443", "", None),
    ("https://api.example:6443", "*", None),
    ("https://api.example:6443", "other, example", None),
    ("https://api.example:6443", ".example", None),
    ("https://api.example:6443", "*.example", None),
    ("https://example:6443", ".example", PROXY),
    ("https://badexample:6443", "example", PROXY),
    ("https://api.example:6443", "api.example:6443", None),
    ("https://api.example:6443", "api.example:443", PROXY),
    ("https://10.1.2.3:6443", "10.0.0.0/8", None),
    ("https://10.1.2.3:6443", "10.1.2.3", None),
    ("https://10.1.2.3:6443", "10.2.0.0/16,no/network", PROXY),
    ("https://[fd00::1]:6443", "fd00::/8", None),
    ("https://[fd00::1]:6443", "[fd00::1]:6443", None),
]


@pytest.mark.parametrize(("host", "none", "proxy"), CASES)
def test_proxy_of_the_environment(monkeypatch, host, none, proxy):
    """As Go reads it: never for what is on this machine, whoever sets HTTP_PROXY."""
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    monkeypatch.setenv("http_proxy", "http://plain:3128")
    monkeypatch.setenv("NO_PROXY", none)
    assert environment_proxy(host) == proxy
