"""The NetworkPolicy lets the daemon out to the pods that it scrapes, of whatever stack."""

from reporter.stacks import STACKS
from tests.helm.charts import render
from tests.tables import SCRAPED, Stack

PORTS = [{"port": each} for each in (8000, 8080, 8100, 8200, 9090, 30000)]
KAITO = [{"key": "inferenceset.kaito.sh/created-by", "operator": "Exists"}]


def to_pods(**stacks: str) -> list[dict[str, object]]:
    """Return the rules of egress that name pods."""
    values = {"networkPolicy.egress": True, **{f"stacks.{key}": v for key, v in stacks.items()}}
    egress = render(values).one("NetworkPolicy")["spec"]["egress"]
    return [
        {**peer["podSelector"], "ports": rule.get("ports")}
        for rule in egress
        for peer in rule.get("to", ())
        if peer.get("namespaceSelector") == {}
    ]


def test_pods_of_each_stack_are_let_out_to():
    """By the labels that the scraper goes by, and on the ports of servers alone: a tenant labels pods."""
    rules = {
        row.stack: {
            "matchLabels": dict(row.labels),
            "matchExpressions": [{"key": row.label, "operator": "Exists"}],
            "ports": PORTS,
        }
        for row in SCRAPED
    }
    assert [stack for stack, rule in rules.items() if rule not in to_pods()] == []
    assert [stack for stack, rule in rules.items() if rule in to_pods(**{stack: "off"})] == []


def test_alertmanager_is_let_out_to_where_it_is_told():
    """In the namespaces where it usually is; without its URLs there is no hole."""
    egress = {"networkPolicy.egress": True}
    told = egress | {"alertmanager.urls": ["http://am.monitoring:9093"]}
    before, after = (render(each).one("NetworkPolicy")["spec"]["egress"] for each in (egress, told))
    (rule,) = [each for each in after if each not in before]
    assert rule["ports"] == [{"port": 9093}]
    (peer,) = rule["to"]
    assert "monitoring" in peer["namespaceSelector"]["matchExpressions"][0]["values"]
    everywhere = render(told | {"networkPolicy.alertmanagerTo": []}).one("NetworkPolicy")
    assert {"ports": [{"port": 9093}]} in everywhere["spec"]["egress"]


def test_pods_of_inferencesets_are_let_out_to_while_kaito_is_looked_at():
    rule = {"matchExpressions": KAITO, "ports": [{"port": 5000}]}
    assert rule in to_pods()
    assert rule not in to_pods(kaito="off")


def test_endpoint_pickers_are_let_out_to():
    """By the labels that the scraper goes by, as far as they are not those of another stack."""
    rows = {each.name: each.pickers for each in STACKS if each.pickers}
    for row in rows.values():
        fits = [{**rule.get("matchLabels", {})}.items() <= row.labels.items() for rule in to_pods()
                if row.label in {each["key"] for each in rule["matchExpressions"]}]  # fmt: skip
        assert any(fits)
    off = dict.fromkeys(rows, "off")
    gone = [rule for rule in to_pods() if rule not in to_pods(**off)]
    assert len(gone) == 2 * len(rows) - 1


def test_nothing_else_is():
    """A stack without vLLM pods of its own has no rule."""
    pickers = len({each.pickers.label for each in STACKS if each.pickers})
    assert len(to_pods()) == len(SCRAPED) + 1 + pickers
    assert to_pods(**dict.fromkeys(Stack, "off")) == []
