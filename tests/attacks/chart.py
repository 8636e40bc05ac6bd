"""What the chart lets in, lets out and grants that a tenant could use."""

import yaml

from tests.attacks.attack import Outcome, attack
from tests.helm.charts import NAMESPACE, RELEASE, REPORTER, helm, render


def _rules(*served: str) -> list[dict]:
    """Return the rules of all ClusterRoles in a cluster that serves some kinds."""
    kinds = [flag for each in served for flag in ("--api-versions", each)]
    out = helm("template", RELEASE, str(REPORTER), "--namespace", NAMESPACE, *kinds).stdout
    roles = [each for each in yaml.safe_load_all(out) if each and each["kind"] == "ClusterRole"]
    return [rule for each in roles for rule in each["rules"]]


@attack("pods that carry a label which the egress rules name")
def _(_folder):
    egress = render({"networkPolicy.egress": True}).one("NetworkPolicy")["spec"]["egress"]
    open_ones = [each for each in egress if not each.get("ports")]
    return Outcome(not open_ones, f"{len(egress)} rules, {len(open_ones)} without ports")


@attack("whoever answers on the ports of DNS")
def _(_folder):
    egress = render({"networkPolicy.egress": True}).one("NetworkPolicy")["spec"]["egress"]
    wide = [each for each in egress if {"port": 53} in each.get("ports", ()) and not each.get("to")]
    return Outcome(not wide, f"{len(wide)} rules let DNS out to everywhere")


@attack("any pod of the cluster that scrapes")
def _(_folder):
    (policy,) = render().of("NetworkPolicy")
    wide = [each for each in policy["spec"]["ingress"] if not each.get("from")]
    return Outcome(
        not wide, f"{len(wide)} of {len(policy['spec']['ingress'])} rules let everybody in"
    )


@attack("templates of workloads of stacks that are not there")
def _(_folder):
    rules = _rules("kaito.sh/v1beta1/Workspace")
    foreign = {"controllerrevisions", "modelservings", "inferenceservices", "modelservices"}
    granted = sorted(foreign & {each for rule in rules for each in rule.get("resources", ())})
    return Outcome(
        not granted, f"granted where KAITO alone is served: {', '.join(granted) or 'none'}"
    )
