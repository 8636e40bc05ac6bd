"""Stories of what an operator runs (components, Gateways, nodes, pods), and of what pods' pages show."""

from typing import Final

from lab.demo.story import CHAT, CODE, HEALTHY, SEARCH, Expected, Scene, Step, Story
from lab.simulation.pod_life import Phase
from reporter.catalogue import reasons as c
from reporter.catalogue import runtime as t
from reporter.catalogue.runtime import of_kind
from reporter.stacks.kaito.reasons import CLUSTER_KAITO, INFERENCESET_KIND, MODEL_INFRA, MODEL_PODS


def _quota(scene: Scene, *, exceeded: bool) -> None:
    told = ("True", "NodeClaimsReady", "all node claims are ready")
    if exceeded:
        text = (
            "creating instance: quota for Standard_NC24ads_A100_v4 exceeded, "
            "request an increase at https://portal.example/quota"
        )
        told = ("False", "SubscriptionQuotaReached", text)
    resource, model = "workspaces.kaito.sh", "qwen2-5-coder-7b"
    scene.cluster.condition(resource, CODE, model, says=("NodeClaimReady", *told))


def _models(scene: Scene) -> None:
    _quota(scene, exceeded=True)
    scene.cluster.image_pull(SEARCH, "mistral-7b", fails=True)


def _kaito_down(scene: Scene) -> None:
    _models(scene)
    scene.cluster.scale("kaito-system", "kaito-workspace", 0)


def _kaito_back(scene: Scene) -> None:
    _quota(scene, exceeded=False)
    scene.cluster.image_pull(SEARCH, "mistral-7b", fails=False)
    scene.cluster.scale("kaito-system", "kaito-workspace", 1)


def _gateway(scene: Scene) -> None:
    no = ("Programmed", "False", "AddressNotUsable", "the Service of the Gateway has no port 80")
    gateways = "gateways.gateway.networking.k8s.io"
    scene.cluster.condition(gateways, CHAT, "chat-models-gw", says=no)


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
        lambda scene: scene.cluster.remove_crd("scaledobjects.keda.sh"),
        (Expected(c.CLUSTER_CRD_MISSING, "cluster", "scaledobjects.keda.sh"),),
    ),
)

CONTROL_PLANE: Final = Story(_STEPS, graced=(c.HARNESS_GATEWAY_PROGRAMMING, MODEL_INFRA))


_MISTRAL: Final = "mistral-7b"
_PHI: Final = "phi-4-mini"

_KV_CACHE: Final = of_kind(t.KV_CACHE, INFERENCESET_KIND)
_DOWNLOAD_SLOW: Final = of_kind(t.DOWNLOAD_SLOW, INFERENCESET_KIND)
_SLOW: Final = Expected(_DOWNLOAD_SLOW, f"inferenceset/{SEARCH}/{_MISTRAL}", "at 5.0 MB/s")
_FULL: Final = Expected(_KV_CACHE, f"inferenceset/{CHAT}/{_PHI}", "while requests wait for room")


def _slow_download(scene: Scene) -> None:
    scene.pods.of(SEARCH, _MISTRAL).become(Phase.DOWNLOADING, speed=5e6)
    scene.cluster.replace_pod(SEARCH, _MISTRAL)


def _served(scene: Scene) -> None:
    scene.pods.of(SEARCH, _MISTRAL).become(Phase.SERVING)
    scene.cluster.pod_ready(SEARCH, _MISTRAL)


_RUNTIME_STEPS: Final = (
    HEALTHY,
    Step(
        "A pod of mistral-7b is replaced, and the new one downloads its weights at 5 MB/s.",
        _slow_download,
        (_SLOW,),
    ),
    Step(
        "The registry is quick again: 300 MB/s.",
        lambda scene: scene.pods.of(SEARCH, _MISTRAL).become(Phase.DOWNLOADING, speed=300e6),
        over=(_SLOW,),
    ),
    Step("The pod is Ready and serves.", _served),
    Step(
        "phi-4-mini gets more requests than its KV cache holds: they wait for room.",
        lambda scene: scene.pods.of(CHAT, _PHI).become(Phase.SATURATED),
        (_FULL,),
    ),
    Step(
        "Half of the clients go.",
        lambda scene: scene.pods.of(CHAT, _PHI).become(Phase.SERVING),
        over=(_FULL,),
    ),
)

RUNTIME: Final = Story(
    _RUNTIME_STEPS,
    (
        "--scrape-interval-seconds=1",
        "--weight-download-window-seconds={window}",
        f"--grace={_KV_CACHE}={{window}}",
    ),
    scrapes=True,
)
