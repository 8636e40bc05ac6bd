"""Which way to the pods the daemon takes."""

import pytest

from reporter.daemon.pod_scraping import way_to_pods
from reporter.settings import DaemonSettings
from reporter.stacks.settings import with_stacks

Settings = with_stacks(DaemonSettings)


@pytest.mark.parametrize(
    ("asked", "in_cluster", "via"),
    [
        ("auto", True, "direct"),
        ("auto", False, "off"),
        ("direct", False, "direct"),
        ("apiserver-proxy", False, "apiserver-proxy"),
        ("off", True, "off"),
    ],
)
def test_pods_are_scraped_from_where_they_can_be_reached(asked, *, in_cluster, via):
    """From outside of the cluster only if asked to; what is logged says how else."""
    way, why = way_to_pods(Settings(scrape_via=asked), in_cluster=in_cluster)
    assert way == via
    assert ("--scrape-via apiserver-proxy" in why) == (asked == "auto" and not in_cluster)
