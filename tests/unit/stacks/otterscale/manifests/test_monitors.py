"""PodMonitors and ServiceMonitor."""

from dataclasses import replace
from itertools import product

import pytest

from tests.unit.stacks.otterscale.manifests import labels
from tests.unit.stacks.otterscale.manifests.building import OPERATOR, document, documents, service

POOL = {"inferencePool": {"endpointPicker": {}}}


@pytest.mark.parametrize(
    ("told", "endpoint"),
    [
        ({}, ("http", "/metrics", "30s")),
        ({"portName": "proxy", "path": "/m", "interval": "5s"}, ("proxy", "/m", "5s")),
        ({"portName": "", "path": "", "interval": ""}, ("http", "/metrics", "30s")),
    ],
)
@pytest.mark.parametrize("role", ["decode", "prefill"])
def test_pod_monitor(told, endpoint, role):
    monitoring = {"podMonitor": {"enabled": True, **told}}
    made = document(service(prefill={}, monitoring=monitoring), "PodMonitor", f"qwen3-{role}")
    port, path, interval = endpoint
    assert made["apiVersion"] == "monitoring.coreos.com/v1"
    assert made["spec"] == {
        "selector": {"matchLabels": labels.role_selector("qwen3", role)},
        "podMetricsEndpoints": [
            {
                "port": port,
                "path": path,
                "interval": interval,
                "relabelings": [
                    {
                        "action": "replace",
                        "sourceLabels": ["__meta_kubernetes_pod_label_app_kubernetes_io_name"],
                        "targetLabel": "model_service",
                    }
                ],
            }
        ],
    }


@pytest.mark.parametrize("auth", [True, False])
def test_service_monitor(auth):
    operator = replace(OPERATOR, metrics_endpoint_auth=auth)
    monitored = service(monitoring={"podMonitor": {"enabled": True}}, **POOL)
    made = document(monitored, "ServiceMonitor", "qwen3-epp", operator)
    credentials = {"name": "qwen3-epp-sa-metrics-reader-secret", "key": "token"}
    assert made["spec"] == {
        "selector": {"matchLabels": labels.epp_selector("qwen3")},
        "endpoints": [
            {
                "port": "http-metrics",
                "interval": "30s",
                **({"authorization": {"credentials": credentials}} if auth else {}),
            }
        ],
    }


@pytest.mark.parametrize(
    ("monitoring", "pod_monitors", "service_monitor"),
    [
        (None, True, False),
        ({}, True, False),
        ({"podMonitor": {}}, False, False),
        ({"podMonitor": {"interval": "15s"}}, False, False),
        ({"podMonitor": {"enabled": False}}, False, False),
        ({"podMonitor": {"enabled": True}}, True, True),
    ],
)
def test_which_there_are(monitoring, pod_monitors, service_monitor):
    """Of prefill only where there is prefill, of the endpoint picker only where a pool names one."""
    for prefill, pool in product([None, {}], [{}, POOL]):
        made = documents(service(monitoring=monitoring, prefill=prefill, **pool))
        wanted = {
            ("PodMonitor", "qwen3-decode"): pod_monitors,
            ("PodMonitor", "qwen3-prefill"): pod_monitors and prefill is not None,
            ("ServiceMonitor", "qwen3-epp"): service_monitor and bool(pool),
        }
        assert {key: key in made for key in wanted} == wanted, (prefill, pool)
