"""Pure functions from a scope to findings: the framework, and the probes that all stacks share."""
