"""What the demo does to the cluster, and the Events that must tell it: nothing more or less."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from reporter.catalogue import reasons as c
from reporter.sandbox.objects import JSON
from reporter.sandbox.sandbox import Sandbox

CHAT: Final = "chat-models"
CODE: Final = "code-models"
SEARCH: Final = "search-models"


@dataclass(frozen=True, slots=True)
class Expected:
    """An Event that a step must bring: its reason, its subject, and text it must contain."""

    reason: str
    subject: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done to the cluster.

    Attributes:
        told: what was done, as an operator would say it.
        act: does it.
        expected: the Events that follow, in any order.

    """

    told: str
    act: Callable[["Cluster"], None]
    expected: tuple[Expected, ...]


class Cluster:
    """The sandbox with the words of the story."""

    def __init__(self, sandbox: Sandbox, now: Callable[[], str]) -> None:
        self._sandbox = sandbox
        self._now = now

    def scale(self, namespace: str, deployment: str, replicas: int) -> None:
        """Scale a Deployment."""
        self._sandbox.scale("deployments.apps", deployment, replicas, namespace=namespace)

    def condition(
        self,
        resource: str,
        namespace: str,
        owner: str,
        type_: str,
        status: str,
        reason: str,
        message: str,
    ) -> None:
        """Set a condition of every object whose name begins with `owner`."""
        for obj in self._named(resource, namespace, owner):
            name, conditions = _name(obj), _list(obj, "status", "conditions")
            fresh: JSON = {
                "type": type_,
                "status": status,
                "reason": reason,
                "message": message,
                "lastTransitionTime": self._now(),
            }
            others = [each for each in conditions if _field(each, "type") != type_]
            self._patch_status(resource, namespace, name, {"conditions": [*others, fresh]})

    def image_pull(self, namespace: str, owner: str, *, fails: bool) -> None:
        """Let the images of the model's pods fail to be pulled, or arrive."""
        for obj in self._named("pods", namespace, owner):
            statuses = [
                {**each, "ready": not fails, "state": self._container_state(fails=fails)}
                for each in _list(obj, "status", "containerStatuses")
                if isinstance(each, dict)
            ]
            conditions = [
                {**each, "status": "False" if fails else "True"}
                if _field(each, "type") in ("Ready", "ContainersReady")
                else each
                for each in _list(obj, "status", "conditions")
                if isinstance(each, dict)
            ]
            phase = "Pending" if fails else "Running"
            status: JSON = {
                "phase": phase,
                "containerStatuses": [*statuses],
                "conditions": [*conditions],
            }
            self._patch_status("pods", namespace, _name(obj), status)

    def remove_crd(self, name: str) -> None:
        """Delete a CustomResourceDefinition."""
        self._sandbox.delete("customresourcedefinitions.apiextensions.k8s.io", name)

    def _container_state(self, *, fails: bool) -> JSON:
        if not fails:
            return {"running": {"startedAt": self._now()}}
        text = "Back-off pulling image registry.example/vllm:typo"
        return {"waiting": {"reason": "ImagePullBackOff", "message": text}}

    def _named(self, resource: str, namespace: str, owner: str) -> list[dict[str, JSON]]:
        found = self._sandbox.list(resource, namespace=namespace)
        return [obj for obj in found if _name(obj).startswith(owner) and "epp" not in _name(obj)]

    def _patch_status(self, resource: str, namespace: str, name: str, status: JSON) -> None:
        self._sandbox.patch(
            resource, name, {"status": status}, namespace=namespace, subresource="status"
        )


def _name(obj: dict[str, JSON]) -> str:
    return str(_field(obj.get("metadata"), "name"))


def _field(value: JSON, key: str) -> JSON:
    return value.get(key) if isinstance(value, dict) else None


def _list(obj: JSON, *path: str) -> list[JSON]:
    for key in path:
        obj = _field(obj, key)
    return obj if isinstance(obj, list) else []


def _nothing(_cluster: Cluster) -> None:
    """Only look."""


def _quota(cluster: Cluster, *, exceeded: bool) -> None:
    if exceeded:
        cluster.condition(
            "workspaces.kaito.sh", CODE, "qwen2-5-coder-7b", "NodeClaimReady", "False",
            "SubscriptionQuotaReached",
            "creating instance: quota for Standard_NC24ads_A100_v4 exceeded, request an increase "
            "at https://portal.example/quota",
        )  # fmt: skip
    else:
        cluster.condition(
            "workspaces.kaito.sh", CODE, "qwen2-5-coder-7b", "NodeClaimReady", "True",
            "NodeClaimsReady", "all node claims are ready",
        )  # fmt: skip


def _kaito_down(cluster: Cluster) -> None:
    _quota(cluster, exceeded=True)
    cluster.image_pull(SEARCH, "mistral-7b", fails=True)
    cluster.scale("kaito-system", "kaito-workspace", 0)


def _kaito_back(cluster: Cluster) -> None:
    _quota(cluster, exceeded=False)
    cluster.image_pull(SEARCH, "mistral-7b", fails=False)
    cluster.scale("kaito-system", "kaito-workspace", 1)


def _gateway(cluster: Cluster) -> None:
    cluster.condition(
        "gateways.gateway.networking.k8s.io", CHAT, "chat-models-gw", "Programmed", "False",
        "AddressNotUsable", "the Service of the Gateway has no port 80",
    )  # fmt: skip


def _models(cluster: Cluster) -> None:
    _quota(cluster, exceeded=True)
    cluster.image_pull(SEARCH, "mistral-7b", fails=True)


def _crd(cluster: Cluster) -> None:
    cluster.remove_crd("scaledobjects.keda.sh")


_MODELS: Final = (
    f"{CHAT}/llama-3-1-8b",
    f"{CHAT}/phi-4-mini",
    f"{CODE}/qwen2-5-coder-7b",
    f"{SEARCH}/mistral-7b",
    f"{SEARCH}/gemma-3-4b",
)

STORY: Final[tuple[Step, ...]] = (
    Step(
        "The stack is healthy: three workload namespaces, five InferenceSets.",
        _nothing,
        (
            Expected(c.CLUSTER_READY, "cluster"),
            *(Expected(c.HARNESS_READY, f"namespace/{name}") for name in (CHAT, CODE, SEARCH)),
            *(Expected(c.MODEL_READY, f"inferenceset/{name}") for name in _MODELS),
        ),
    ),
    Step(
        "kubectl -n kaito-system scale deployment kaito-workspace --replicas=0, and, behind it, "
        "a quota error in code-models and image pull errors in search-models.",
        _kaito_down,
        (
            Expected(
                c.CLUSTER_KAITO,
                "cluster",
                "(suppressing downstream reasons: inferencesetInfraProvisioningFailed, "
                "inferencesetModelPodsNotReady in 2 namespace(s))",
            ),
        ),
    ),
    Step(
        "All of it is repaired: kubectl -n kaito-system scale deployment kaito-workspace "
        "--replicas=1",
        _kaito_back,
        (Expected(c.CLUSTER_READY, "cluster"),),
    ),
    Step(
        "The Gateway of chat-models loses its address.",
        _gateway,
        (Expected(c.HARNESS_GATEWAY_PROGRAMMING, f"namespace/{CHAT}", "AddressNotUsable"),),
    ),
    Step(
        "The quota error in code-models and the image pull errors in search-models come again, "
        "this time with KAITO up.",
        _models,
        (
            Expected(
                c.MODEL_INFRA, f"inferenceset/{CODE}/qwen2-5-coder-7b", "SubscriptionQuotaReached"
            ),
            Expected(c.MODEL_PODS, f"inferenceset/{SEARCH}/mistral-7b", "ImagePullBackOff"),
        ),
    ),
    Step(
        "kubectl delete crd scaledobjects.keda.sh",
        _crd,
        (Expected(c.CLUSTER_CRD_MISSING, "cluster", "scaledobjects.keda.sh"),),
    ),
)

GRACED: Final = (c.HARNESS_GATEWAY_PROGRAMMING, c.MODEL_INFRA)
"""Reasons of the story whose own grace would make it long; the demo shortens it."""
