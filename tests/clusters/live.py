"""Clusters as an API server is given them, made of the examples: each healthy, and what each needs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from lab.sandbox.loading import flatten
from lab.sandbox.objects import Object, copy_json, decode, encode, meta, name_of, namespace_of
from reporter.snapshot.documents import read_documents
from tests.unit.conftest import EXAMPLES

KAITO, KSERVE, KTHENA, OTTERSCALE = (
    "healthy-stack", "inferenceservice/healthy", "modelserving/healthy", "modelservice/healthy",
)  # fmt: skip

_MISSING: Final = "clusterCRDMissing"
_SCALING: Final = "scaledobject.kaito.sh/"
_OWNED_BY: Final = "kaito.sh/owned-by"
_OF_KAITO_ALONE: Final = {
    "Deployment": "kaito-system/kaito-workspace",
    "CustomResourceDefinition": "/workspaces.kaito.sh /inferencesets.kaito.sh",
}
_KAITO_KINDS: Final = frozenset({"InferenceSet", "Namespace", "Node", "Pod", "Workspace"})
_NOT_KAITO: Final = frozenset({"istio-system", "keda", "llm-gateway-auth"})


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """A healthy cluster.

    Attributes:
        objects: all that is in it, its CustomResourceDefinitions where an example has them.
        removed: an object (`Deployment namespace/name`) or a definition, and the cause once it is gone.

    """

    objects: tuple[Object, ...] = ()
    removed: dict[str, str] = field(default_factory=dict)


@cache
def _example(folder: str) -> tuple[Object, ...]:
    values = (each.value for each in read_documents([EXAMPLES / folder]))
    return tuple(each for each in flatten(values) if each["kind"] != "Event")


def _renamed(objects: Iterable[Object], old: str, new: str) -> Iterator[Object]:
    """Yield objects of a namespace that another example has too."""
    for each in objects:
        yield decode(encode(each).replace(old.encode(), new.encode()))


def _once(*objects: Object) -> tuple[Object, ...]:
    """Return objects without those that another example had already: nodes."""
    by_name = {(each["kind"], namespace_of(each), name_of(each)): each for each in objects[::-1]}
    return tuple(by_name.values())[::-1]


def _kaito_alone() -> Iterator[Object]:
    """Yield what a cluster has where KAITO deploys models, and nobody made a gateway for them."""
    for each in map(copy_json, _example(KAITO)):
        kind, name, namespace = each["kind"], name_of(each), namespace_of(each)
        named = f"{namespace}/{name}" in _OF_KAITO_ALONE.get(kind, "").split()
        if not named and (kind not in _KAITO_KINDS or {name, namespace} & _NOT_KAITO):
            continue
        if kind == "Pod" and ("kaito-system" in namespace) != ("kaito-workspace" in name):
            continue
        if kind == "Pod" and ("-gw-" in name or "-epp" in name):
            continue
        meta(each).get("labels", {}).pop(_OWNED_BY, None)
        annotations = meta(each).get("annotations") or {}
        meta(each)["annotations"] = {
            key: value for key, value in annotations.items() if not key.startswith(_SCALING)
        }
        yield each


def _otterscale(namespace: str = "chat-models") -> tuple[Object, ...]:
    return tuple(_renamed(_example(OTTERSCALE), "chat-models", namespace))


_OF_KSERVE: Final = {
    "Deployment kserve/kserve-controller-manager": "clusterKServeControllerNotReady",
    "Deployment knative-serving/controller": "clusterKnativeNotReady",
    "inferenceservices.serving.kserve.io": _MISSING,
}
_OF_KTHENA: Final = {
    "Deployment kthena-system/kthena-controller-manager": "clusterKthenaControllerNotReady",
    "modelservings.workload.serving.volcano.sh": _MISSING,
}
_OF_OTTERSCALE: Final = {
    "Deployment otterscale-system/model-operator-controller-manager": "clusterOtterScaleOperatorNotReady",
    "Deployment istio-system/istiod": "clusterIstioControlPlaneNotReady",
    "modelservices.model.otterscale.io": _MISSING,
}
_OF_KAITO: Final = {
    "Deployment kaito-system/kaito-workspace": "clusterKaitoControllerNotReady",
    "workspaces.kaito.sh": _MISSING,
}
_OF_PRODUCTION: Final = {
    **_OF_KAITO,
    "Deployment istio-system/istiod": "clusterIstioControlPlaneNotReady",
    "Deployment llm-gateway-auth/apikey-authz": "clusterGatewayAuthNotReady",
    "Deployment kaito-system/body-based-router": "clusterBBRNotReady",
    "Deployment keda/keda-operator": "clusterKedaNotReady",
    "Deployment keda/keda-kaito-scaler": "clusterKedaKaitoScalerNotReady",
}

LIVE_CLUSTERS: Final = {
    "kserve alone": LiveCluster(_example(KSERVE), _OF_KSERVE),
    "kthena alone": LiveCluster(_example(KTHENA), _OF_KTHENA),
    "otterscale alone": LiveCluster(_otterscale(), _OF_OTTERSCALE),
    "kaito alone without a gateway": LiveCluster(tuple(_kaito_alone()), _OF_KAITO),
    "production stack": LiveCluster(_example(KAITO), _OF_PRODUCTION),
    "all four": LiveCluster(
        _once(*_example(KAITO), *_otterscale("team-models"), *_example(KTHENA), *_example(KSERVE)),
        {**_OF_KAITO, **_OF_OTTERSCALE, **_OF_KTHENA, **_OF_KSERVE},
    ),
    "nothing": LiveCluster(),
}
