"""An InferenceService in a namespace of its own, with KServe played, and what tests ask of it."""

from typing import Any

from e2e.stack.controller import Key
from e2e.stack.kserve import INFERENCESERVICES, KServe
from e2e.stage import Stage
from lab.demo.inferenceservice import inferenceservice
from lab.sandbox.objects import Object
from lab.simulation.kserve_fates import Fate
from tests.daemon.replica import Replica, until

NAME = "chat"
REVISIONS = (
    "latestCreatedRevision",
    "latestReadyRevision",
    "latestRolledoutRevision",
    "previousRolledoutRevision",
)


class Models:
    """A namespace with an InferenceService, and KServe's controllers while entered."""

    def __init__(self, stage: Stage, namespace: str) -> None:
        self.namespace = namespace
        self.key = Key(namespace, NAME)
        self.kserve = KServe(stage.api)
        self.stage = stage

    def about(self, reason: str) -> tuple[str, str]:
        """Return the key of an Event of ours."""
        return (reason, f"inferenceservice/{self.namespace}/{NAME}")

    async def create(self, **options: bool) -> None:
        """Create it, and wait until its pods run."""
        wanted = inferenceservice(NAME, "hf://example/chat-1", **options)
        wanted["metadata"]["namespace"] = self.namespace
        await self.stage.api.create(wanted)
        await self.settled()

    async def settled(self) -> None:
        """Wait until nobody has anything left to do."""

        async def at_rest() -> bool:
            self.kserve.check()
            return await self.kserve.at_rest(self.key)

        await until(at_rest, f"{self.key} is at rest; {self.kserve.trouble}")

    async def ask(self, **predictor: Any) -> None:
        """Change the predictor's spec."""
        patch = {"spec": {"predictor": predictor}}
        await self.stage.api.patch(INFERENCESERVICES, NAME, patch, namespace=self.namespace)

    async def change(self, **predictor: Any) -> None:
        """Change the predictor's spec, and wait for what follows."""
        await self.ask(**predictor)
        await self.settled()

    async def status(self) -> Object:
        """Return its status."""
        found = await self.stage.api.get(INFERENCESERVICES, NAME, namespace=self.namespace)
        return (found or {}).get("status") or {}

    async def befalls(self, prefix: str, fate: Fate) -> None:
        """Let something happen to the pods whose name begins so."""
        for pod in await self.stage.api.items("pods", namespace=self.namespace):
            if pod["metadata"]["name"].startswith(prefix):
                await self.kserve.befalls(pod, fate)
        await self.settled()


def conditions(status: Object) -> dict[str, str]:
    """Return the status of each condition."""
    return {each["type"]: each["status"] for each in status["conditions"]}


async def derived(daemon: Replica, models: Models) -> Object:
    """Return the status that the report says the InferenceService should have."""
    (found,) = [
        each["status"]
        for each in (await daemon.report())["derived"]
        if each["namespace"] == models.namespace
    ]
    return found


def revisions(status: Object) -> list[str]:
    """Return the revisions of the predictor: created, ready, rolled out, before that."""
    part = status["components"]["predictor"]
    return [part.get(each, "").removeprefix(f"{NAME}-predictor-") for each in REVISIONS]


def standard(namespace: str) -> tuple[Object, Object, Object]:
    """Return the Deployment of an InferenceService in Standard mode, itself, and its status."""
    labels = {"serving.kserve.io/inferenceservice": NAME, "app": f"isvc.{NAME}-predictor"}
    container = {"name": "kserve-container", "image": "vllm/vllm-openai:v0.14.0"}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"{NAME}-predictor", "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }
    found = inferenceservice(NAME, "hf://example/chat-1")
    found["metadata"] |= {
        "namespace": namespace,
        "annotations": {"serving.kserve.io/deploymentMode": "Standard"},
    }
    status = {
        "deploymentMode": "Standard",
        "observedGeneration": 1,
        "url": f"http://{NAME}.example.com",
        "conditions": [
            {"type": type_, "status": "True"}
            for type_ in ("IngressReady", "PredictorReady", "Ready")
        ],
    }
    return deployment, found, status
