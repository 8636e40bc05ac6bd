"""Turn findings, memory and the time into a report, by the rules of docs/architecture.md; pure."""

from reporter.resolution.grace import SinglePass
from reporter.resolution.memory import Memory
from reporter.resolution.resolve import Resolution, resolve

__all__ = ["Memory", "Resolution", "SinglePass", "resolve"]
