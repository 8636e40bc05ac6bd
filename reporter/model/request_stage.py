"""The stages that a request passes on its way to a model."""

from enum import StrEnum


class RequestStage(StrEnum):
    """A place on the way, in the order in which requests pass; the value is its title."""

    GATEWAY = "Gateway"
    ROUTING = "Routing"
    PICKER = "Endpoint picker"
    PODS = "Model pods"
