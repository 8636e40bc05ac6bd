"""Asks the pods that serve models for their metrics pages; the only place that does so."""
