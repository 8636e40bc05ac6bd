"""What the chart's `values.schema.json` repeats of the catalogue: names of reasons and thresholds.

`make docs` renders it into the file, which is else written by hand. Without a file the names of all
reasons are rendered, as a file of the chart.
"""

import json
from typing import Any

from reporter.catalogue.custom.checks import MOST_LETTERS
from reporter.catalogue.custom.extend import prefixes_of
from reporter.catalogue.pickers import FROM_PAGES, SWITCHED_NAMES
from reporter.catalogue.render import page_of
from reporter.catalogue.render_needs import shared_parts
from reporter.catalogue.runtime import THRESHOLDS, of_kind
from reporter.model.catalogue import Catalogue
from reporter.model.reason import Threshold
from reporter.model.subject import Layer


def values_schema(text: str, catalogue: Catalogue) -> str:
    """Return a schema with those lists as the catalogue has them."""
    schema: dict[str, Any] = json.loads(text)
    definitions, properties = schema["definitions"], schema["properties"]
    definitions["reason"]["enum"] = [reason.name for reason in catalogue]
    definitions["gracedReason"]["enum"] = [
        reason.name
        for reason in catalogue
        if reason.window_seconds is None or reason.of == catalogue.metrics_kind
    ]
    definitions["customReason"] = {
        "type": "string",
        "maxLength": MOST_LETTERS,
        "pattern": f"^({'|'.join(_prefixes(catalogue))})[A-Z][A-Za-z0-9]*$",
    }
    definitions["runtimeReason"]["enum"] = [
        of_kind(each, catalogue.metrics_kind) for each in SWITCHED_NAMES
    ]
    properties["runtime"]["properties"]["windows"]["propertyNames"] = {
        "enum": [of_kind(each, catalogue.metrics_kind) for each in FROM_PAGES]
    }
    mode = {"$ref": "#/definitions/stackMode"}
    properties["stacks"]["properties"] = {each.name: mode for each in catalogue.stacks}
    properties["components"]["properties"] = {each.name: mode for each in shared_parts(catalogue)}
    properties["runtime"]["properties"]["thresholds"]["properties"] = {
        name: _limits(threshold) for name, threshold in THRESHOLDS.items()
    }
    return json.dumps(schema, indent=2) + "\n"


def _prefixes(catalogue: Catalogue) -> list[str]:
    return [prefix for layer in Layer for prefix in prefixes_of(layer, catalogue)]


def reason_names(catalogue: Catalogue) -> str:
    """Return the names of all reasons as a list in YAML, for the chart's own checks."""
    return "# From reporter/catalogue/reasons.py, by `make docs`.\n" + "".join(
        f"- {reason.name}\n" for reason in catalogue
    )


def reason_pages(catalogue: Catalogue) -> str:
    """Return the page in `docs` that has the reasons of each kind of model, for the chart's alerts."""
    pages = {
        reason.subject_kind: page_of(reason, catalogue)
        for reason in catalogue
        if reason.layer is Layer.DEPLOYMENT
    }
    return "# By what the reasons begin with; from the catalogue, by `make docs`.\n" + "".join(
        f"{kind}: {page}\n" for kind, page in pages.items()
    )


def _limits(threshold: Threshold) -> dict[str, object]:
    most = int(threshold.most) if threshold.most == int(threshold.most) else threshold.most
    return {"type": "number", "minimum": 0, "maximum": most}
