"""Our Events once more in the workload's namespace, on the object itself, where its owner sees them."""
