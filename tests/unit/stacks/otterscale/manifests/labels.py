"""Labels and selectors of the objects of a ModelService, as the operator writes them."""

_K8S = "app.kubernetes.io/"


def _base(name, component=""):
    told = {f"{_K8S}component": component} if component else {}
    both = {f"{_K8S}part-of": "otterscale-system", f"{_K8S}managed-by": "model-operator"}
    return {f"{_K8S}name": name, **told, **both}


def _version(version):
    return {f"{_K8S}version": version} if version else {}


def epp(name):
    return name.replace(".", "-") + "-epp"


def role_metadata(name, role, version):
    return _base(name, f"model-{role}") | _version(version)


def role_selector(name, role):
    return pool_selector(name) | _base(name, f"model-{role}") | {"llm-d.ai/role": role}


def epp_metadata(name, version):
    return epp_selector(name) | _version(version)


def epp_selector(name):
    return _base(epp(name), "epp")


def routing_metadata(name, version):
    return _base(name, "epp") | _version(version)


def pool_selector(name):
    return _base(name) | {"llm-d.ai/inferenceServing": "true", "llm-d.ai/model": name}
