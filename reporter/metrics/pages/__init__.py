"""Pages of metrics: bytes that a pod served to what the rules need of them. No I/O, no clock."""
