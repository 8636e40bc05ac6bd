"""Copies of our Events in the workload's namespace, on the object itself, where its owner sees them."""
