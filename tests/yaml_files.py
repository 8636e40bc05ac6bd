"""Reads the tests' own YAML, once for each process: large tables are read where tests are collected."""

import functools
from pathlib import Path

import yaml

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C, which takes a tenth of the time, where PyYAML was built with it."""


@functools.cache
def load(path: Path):
    """Return what a file holds; nobody changes it."""
    return yaml.load(path.read_text(), _Loader)
