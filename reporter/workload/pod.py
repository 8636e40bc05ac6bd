"""What is wrong with a pod, judged from its own status."""
