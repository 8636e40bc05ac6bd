"""The laboratory: an API server in memory, simulated pods and controllers, and a demo.

It is a separate distribution; production does not install it.
"""
