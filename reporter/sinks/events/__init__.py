"""The report as core/v1 Events in kube-system."""
