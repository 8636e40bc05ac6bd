"""What Python's YAML parser makes of text that anybody may have written."""

from typing import Final

import yaml

UNREADABLE: Final = (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, RecursionError,
                     TypeError, ValueError)  # fmt: skip
"""What the parser and its constructors of scalars raise for text that is not YAML, or `!!int ""`."""
