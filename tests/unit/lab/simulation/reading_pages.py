"""Reading pages in tests, with the parsers of prometheus-client."""

from collections import defaultdict
from collections.abc import Iterable

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families


def families(text: str) -> list[Metric]:
    """Parse a page."""
    return list(text_string_to_metric_families(text))


class Page:
    """Values of a page by sample name and some labels."""

    def __init__(self, text: str) -> None:
        self.samples = [each for family in families(text) for each in family.samples]

    def sum(self, name: str, **labels: str) -> float:
        """Return the sum over all series with these labels."""
        found = [
            each.value
            for each in self.samples
            if each.name == name and labels.items() <= each.labels.items()
        ]
        assert found, f"no {name}{labels} on the page"
        return sum(found)

    def names(self) -> set[str]:
        """Return all sample names."""
        return {each.name for each in self.samples}

    def moving(self) -> dict[tuple[str, str], float]:
        """Return the values of the engine, without creation times."""
        return {
            (each.name, str(sorted(each.labels.items()))): each.value
            for each in self.samples
            if each.name.startswith("vllm:") and not each.name.endswith("_created")
        }


TOLD = {"le", "position", "reason", "sleep_state", "source", "status"}
"""Labels whose values are the same on every page of the kind."""


def label_sets(metrics: Iterable[Metric]) -> dict[tuple[str, str], set[str]]:
    """Return, for each kind and sample name, the label sets, with values where they are fixed."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for metric in metrics:
        for each in metric.samples:
            labels = {name: value if name in TOLD else "" for name, value in each.labels.items()}
            found[metric.type, each.name].add(str(sorted(labels.items())))
    return found
