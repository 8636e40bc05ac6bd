"""Fetches the metrics pages of model pods and endpoint pickers; no other code does."""
