"""The authorization providers that Istio's mesh configuration defines."""

from functools import lru_cache
from typing import Final

from reporter.catalogue.needs import API_KEY_PROVIDER
from reporter.catalogue.resources import CONFIGMAPS, ISTIO_CONFIGMAP
from reporter.catalogue.shared_parts import GATEWAY_AUTH
from reporter.model.objects import AuthorizationPolicy, ConfigMap
from reporter.setting_types import PartMode
from reporter.settings import EvaluationSettings
from reporter.snapshot.snapshot import Snapshot
from reporter.yaml_reader.limits import Unreadable
from reporter.yaml_reader.reading import read_yaml


def mesh_configs(snapshot: Snapshot, settings: EvaluationSettings) -> tuple[ConfigMap, ...]:
    """Return Istio's mesh configurations, in the order of its namespaces and their names.

    A revision reads the ConfigMap of its own name. Others that share the prefix hold no mesh.
    """
    return tuple(
        config
        for namespace in settings.istio_namespace
        for config in snapshot[CONFIGMAPS].in_namespace(namespace)
        if config.name == ISTIO_CONFIGMAP or config.name.startswith(f"{ISTIO_CONFIGMAP}-")
        if config.data is not None and config.data.mesh is not None
    )


def mesh_providers(snapshot: Snapshot, settings: EvaluationSettings) -> frozenset[str] | None:
    """Return the names of all extension providers, None where they cannot be told.

    The union over all configurations counts; one that cannot be read makes the answer unknown.
    """
    names: set[str] = set()
    configs = mesh_configs(snapshot, settings)
    for config in configs:
        mesh = config.data.mesh if config.data else None
        providers = _provider_names(mesh or "")
        if providers is None:
            return None
        names |= providers
    return frozenset(names) if configs else None


def lacks_api_key_provider(snapshot: Snapshot, settings: EvaluationSettings) -> bool:
    """Tell whether the provider of API keys is known to be missing for the whole cluster."""
    names = ("gateway_auth_deployment", "gateway_auth_namespace")
    if settings.component(GATEWAY_AUTH, names) is PartMode.OFF:
        return False
    providers = mesh_providers(snapshot, settings)
    return providers is not None and API_KEY_PROVIDER not in providers


def required_provider(policy: AuthorizationPolicy) -> str:
    """Return the provider that a policy needs, empty if it needs none."""
    if policy.deleting or policy.spec.action != "CUSTOM" or policy.spec.provider is None:
        return ""
    return policy.spec.provider.name


_PARSED_MESHES: Final = 16


@lru_cache(maxsize=_PARSED_MESHES)
def _provider_names(mesh: str) -> frozenset[str] | None:
    """Return the providers of one mesh configuration, None if it is not one."""
    try:
        config = read_yaml(mesh)
    except Unreadable:
        return None
    if config is None:
        return frozenset()
    if not isinstance(config, dict):
        return None
    providers = config.get("extensionProviders") or []
    if not isinstance(providers, list):
        return None
    names = (each.get("name") for each in providers if isinstance(each, dict))
    return frozenset(name for name in names if isinstance(name, str))
