"""Pure functions from a scope to findings: the frame, and the probes of what all stacks share."""
