"""What the chart's `values.schema.json` repeats of the catalogue: names of reasons and thresholds.

`make docs` renders it into the file, which is else written by hand. Without a file the names of all
reasons are rendered, as a file of the chart.
"""

import json
import sys
from pathlib import Path
from typing import Any

from reporter.catalogue.custom.checks import MOST_LETTERS, PREFIXES
from reporter.catalogue.reasons import REASONS
from reporter.catalogue.runtime import FROM_METRICS, RUNTIME_NAMES, THRESHOLDS
from reporter.model.reason import Threshold
from reporter.model.stack import Stack


def values_schema(text: str) -> str:
    """Return a schema with those lists as the catalogue has them."""
    schema: dict[str, Any] = json.loads(text)
    definitions, properties = schema["definitions"], schema["properties"]
    definitions["reason"]["enum"] = [reason.name for reason in REASONS]
    definitions["gracedReason"]["enum"] = [
        reason.name
        for reason in REASONS
        if reason.window_seconds is None or reason.name in FROM_METRICS
    ]
    definitions["customReason"] = {
        "type": "string",
        "maxLength": MOST_LETTERS,
        "pattern": f"^({'|'.join(_prefixes())})[A-Z][A-Za-z0-9]*$",
    }
    definitions["runtimeReason"]["enum"] = list(RUNTIME_NAMES)
    mode = {"$ref": "#/definitions/stackMode"}
    properties["stacks"]["properties"] = {str(stack): mode for stack in Stack}
    properties["runtime"]["properties"]["thresholds"]["properties"] = {
        name: _limits(threshold) for name, threshold in THRESHOLDS.items()
    }
    return json.dumps(schema, indent=2) + "\n"


def _prefixes() -> list[str]:
    return [prefix for prefixes in PREFIXES.values() for prefix in prefixes]


def reason_names() -> str:
    """Return the names of all reasons as a list in YAML, for the chart's own checks."""
    return "# From reporter/catalogue/reasons.py, by `make docs`.\n" + "".join(
        f"- {reason.name}\n" for reason in REASONS
    )


def _limits(threshold: Threshold) -> dict[str, object]:
    most = int(threshold.most) if threshold.most == int(threshold.most) else threshold.most
    return {"type": "number", "minimum": 0, "maximum": most}


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.stdout.write(values_schema(Path(given[0]).read_text()) if given else reason_names())
