"""Pure: findings, memory and now become a report, in the steps of design section 5."""

from reporter.resolution.grace import OneLook
from reporter.resolution.memory import Memory
from reporter.resolution.resolve import Resolution, resolve

__all__ = ["Memory", "OneLook", "Resolution", "resolve"]
