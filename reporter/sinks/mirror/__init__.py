"""Copies of our Events in the workload's namespace, on the object, where its owner looks."""
