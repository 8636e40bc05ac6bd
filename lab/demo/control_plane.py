"""The story of the parts that an operator runs: components, Gateways, nodes, pods."""

from typing import Final

from lab.demo.story import CHAT, CODE, HEALTHY, SEARCH, Expected, Scene, Step, Story, StoryPace
from reporter.catalogue import reasons as c
from reporter.stacks.kaito.reasons import CLUSTER_KAITO, MODEL_INFRA, MODEL_PODS

_GRACED: Final = (c.HARNESS_GATEWAY_PROGRAMMING, MODEL_INFRA)
"""Reasons whose own grace would make the story long; the demo shortens it."""


def _flags(pace: StoryPace) -> tuple[str, ...]:
    graces = ",".join(f"{reason}={pace.grace}" for reason in _GRACED)
    return (f"--grace={graces}", "--scrape-via=off")


def _quota(scene: Scene, *, exceeded: bool) -> None:
    if exceeded:
        scene.cluster.condition(
            "workspaces.kaito.sh", CODE, "qwen2-5-coder-7b", type_="NodeClaimReady", status="False",
            reason="SubscriptionQuotaReached",
            message="creating instance: quota for Standard_NC24ads_A100_v4 exceeded, "
            "request an increase at https://portal.example/quota",
        )  # fmt: skip
    else:
        scene.cluster.condition(
            "workspaces.kaito.sh", CODE, "qwen2-5-coder-7b", type_="NodeClaimReady", status="True",
            reason="NodeClaimsReady", message="all node claims are ready",
        )  # fmt: skip


def _kaito_down(scene: Scene) -> None:
    _quota(scene, exceeded=True)
    scene.cluster.image_pull(SEARCH, "mistral-7b", fails=True)
    scene.cluster.scale("kaito-system", "kaito-workspace", 0)


def _kaito_back(scene: Scene) -> None:
    _quota(scene, exceeded=False)
    scene.cluster.image_pull(SEARCH, "mistral-7b", fails=False)
    scene.cluster.scale("kaito-system", "kaito-workspace", 1)


def _gateway(scene: Scene) -> None:
    scene.cluster.condition(
        "gateways.gateway.networking.k8s.io", CHAT, "chat-models-gw",
        type_="Programmed", status="False", reason="AddressNotUsable",
        message="the Service of the Gateway has no port 80",
    )  # fmt: skip


def _models(scene: Scene) -> None:
    _quota(scene, exceeded=True)
    scene.cluster.image_pull(SEARCH, "mistral-7b", fails=True)


def _crd(scene: Scene) -> None:
    scene.cluster.remove_crd("scaledobjects.keda.sh")


_STEPS: Final = (
    HEALTHY,
    Step(
        "kubectl -n kaito-system scale deployment kaito-workspace --replicas=0, and, behind it, "
        "a quota error in code-models and image pull errors in search-models.",
        _kaito_down,
        (
            Expected(
                CLUSTER_KAITO,
                "cluster",
                "(suppressing downstream reasons: inferencesetInfraProvisioningFailed, "
                "inferencesetModelPodsNotReady in 2 namespace(s))",
                "(spec.replicas 1 to 0 by kubectl (scale) at ",
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
                MODEL_INFRA, f"inferenceset/{CODE}/qwen2-5-coder-7b", "SubscriptionQuotaReached"
            ),
            Expected(MODEL_PODS, f"inferenceset/{SEARCH}/mistral-7b", "ImagePullBackOff"),
        ),
    ),
    Step(
        "kubectl delete crd scaledobjects.keda.sh",
        _crd,
        (Expected(c.CLUSTER_CRD_MISSING, "cluster", "scaledobjects.keda.sh"),),
    ),
)

CONTROL_PLANE: Final = Story(_flags, _STEPS)
