"""The Deployments of controllers in the demo's clusters."""

from collections.abc import Mapping

from lab.sandbox.objects import Object


def controller(namespace: str, name: str, *, image: str, labels: Mapping[str, str]) -> Object:
    """Return the Deployment of a controller; its pods carry `labels`."""
    container = {"name": "manager", "image": image}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
