"""Incidents that people really had, rebuilt as dumps: what of them is named, and what is not."""
