"""The configuration of the endpoint picker: its ConfigMap and checksum.

The text is written from tables. Its bytes matter: the operator puts a checksum of them into the
pod template of the endpoint picker.
"""

import hashlib
from typing import Final, TypeAlias

import yaml

from reporter.stacks.otterscale.manifests import labels, names
from reporter.stacks.otterscale.manifests.manifest import Manifest, owned
from reporter.stacks.otterscale.manifests.operator import OperatorSettings
from reporter.stacks.otterscale.objects import Json, ModelService

UNIFIED_KEY: Final = "default-plugins.yaml"
DISAGGREGATED_KEY: Final = "pd-config.yaml"

Plugins: TypeAlias = tuple[tuple[str, dict[str, int | str]], ...]
Profiles: TypeAlias = tuple[tuple[str, tuple[tuple[str, int | None], ...]], ...]

_UNIFIED_PLUGINS: Final[Plugins] = (
    ("queue-scorer", {}),
    ("kv-cache-utilization-scorer", {}),
    ("prefix-cache-scorer", {}),
)
_UNIFIED_PROFILES: Final[Profiles] = (
    (
        "default",
        (("queue-scorer", 2), ("kv-cache-utilization-scorer", 2), ("prefix-cache-scorer", 3)),
    ),
)

_DECIDER: Final = "prefix-based-pd-decider"
_DISAGGREGATED_PLUGINS: Final[Plugins] = (
    ("prefill-header-handler", {}),
    ("prefix-cache-scorer", {"maxPrefixBlocksToMatch": 256, "lruCapacityPerServer": 31250}),
    ("queue-scorer", {}),
    ("prefill-filter", {}),
    ("decode-filter", {}),
    ("max-score-picker", {}),
    (_DECIDER, {"nonCachedTokens": 16}),
    ("pd-profile-handler", {"primaryPort": 0, "deciderPluginName": _DECIDER}),
)
_DISAGGREGATED_PROFILES: Final[Profiles] = tuple(
    (
        role,
        (
            (f"{role}-filter", None),
            ("max-score-picker", None),
            ("prefix-cache-scorer", 2),
            ("queue-scorer", 1),
        ),
    )
    for role in (names.PREFILL, names.DECODE)
)


def config_map(service: ModelService, operator: OperatorSettings) -> Manifest:
    """Return the ConfigMap with the configuration."""
    name = names.epp_config_map(service.name)
    metadata = labels.epp_metadata(service.name, operator.version)
    return owned(
        service, "v1", "ConfigMap", name=name, labels=metadata, content={"data": data(service)}
    )


def key(service: ModelService) -> str:
    """Return the key of the configuration, which is the name of the mounted file."""
    return UNIFIED_KEY if service.spec.prefill is None else DISAGGREGATED_KEY


def data(service: ModelService) -> dict[str, str]:
    """Return `data` of the ConfigMap: one key."""
    if service.spec.prefill is None:
        return {UNIFIED_KEY: _text(_UNIFIED_PLUGINS, _UNIFIED_PROFILES)}
    gates = ("prepareDataPlugins",)
    return {DISAGGREGATED_KEY: _text(_DISAGGREGATED_PLUGINS, _DISAGGREGATED_PROFILES, gates)}


def checksum(content: dict[str, str]) -> str:
    """Return the checksum of the `data` of a ConfigMap, as the operator computes it."""
    joined = "".join(f"{name}{text}" for name, text in sorted(content.items()))
    return hashlib.sha256(joined.encode()).hexdigest()


def _text(plugins: Plugins, profiles: Profiles, gates: tuple[str, ...] = ()) -> str:
    document: Json = {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha1",
        "kind": "EndpointPickerConfig",
    }
    if gates:
        document["featureGates"] = list(gates)
    document["plugins"] = [
        {"type": name, "parameters": parameters} if parameters else {"type": name}
        for name, parameters in plugins
    ]
    document["schedulingProfiles"] = [
        {"name": name, "plugins": [_reference(*each) for each in references]}
        for name, references in profiles
    ]
    return yaml.safe_dump(document, sort_keys=False)


def _reference(plugin: str, weight: int | None) -> Json:
    return {"pluginRef": plugin} if weight is None else {"pluginRef": plugin, "weight": weight}
