"""Pure: findings, memory and now become a report, by the rules of docs/architecture.md."""

from reporter.resolution.grace import OneLook
from reporter.resolution.memory import Memory
from reporter.resolution.resolve import Resolution, resolve

__all__ = ["Memory", "OneLook", "Resolution", "resolve"]
