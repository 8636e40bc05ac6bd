"""An embedded Kubernetes API server, for the demo, for tests, and for trying things out."""

from reporter.sandbox.access import Access, Rule
from reporter.sandbox.errors import ApiError
from reporter.sandbox.faults import Fault, Faults
from reporter.sandbox.requests import RequestLog
from reporter.sandbox.sandbox import Sandbox
from reporter.sandbox.serve import serve

__all__ = ["Access", "ApiError", "Fault", "Faults", "RequestLog", "Rule", "Sandbox", "serve"]
