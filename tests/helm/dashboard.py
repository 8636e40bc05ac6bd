"""The dashboard's expressions, as Grafana would send them."""

import json
from collections.abc import Iterator

from tests.helm.charts import NAMESPACE, REPORTER

FILE = REPORTER / "files" / "dashboards" / "status-reporter.json"
_FILLED_IN = {
    "$__rate_interval": "2m", "$__range": "6h", "$namespace": NAMESPACE, "$subject_namespace": ".*",
    "$job": "prod-status-reporter-metrics",
}  # fmt: skip


def expressions() -> Iterator[tuple[str, str]]:
    """Yield title of the panel and expression, with values for Grafana's variables."""
    for panel in json.loads(FILE.read_text())["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"]
            for variable, value in _FILLED_IN.items():
                expression = expression.replace(variable, value)
            yield panel["title"], expression
