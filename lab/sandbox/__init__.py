"""An embedded Kubernetes API server, for the demo, for tests, and for trying things out."""

from lab.sandbox.access import Access, Rule
from lab.sandbox.errors import ApiError
from lab.sandbox.faults import Faults, InjectedFault
from lab.sandbox.requests import RequestLog
from lab.sandbox.sandbox import Sandbox

__all__ = [
    "Access",
    "ApiError",
    "Faults",
    "InjectedFault",
    "RequestLog",
    "Rule",
    "Sandbox",
]
