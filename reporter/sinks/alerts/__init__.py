"""The report as alerts for Alertmanager."""
