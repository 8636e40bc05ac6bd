"""The laboratory: an API server in memory, simulated pods and controllers, and a demo.

A distribution of its own: what runs in production has none of it.
"""
