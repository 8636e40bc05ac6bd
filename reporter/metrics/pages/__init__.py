"""Metrics pages: turns the bytes of a page into the values that rules need. No I/O, no clock."""
