"""Which way to the pods the daemon takes, and that it says so."""

import pytest
from structlog.testing import capture_logs

from reporter.daemon.pod_scraping import reaching
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
    """From outside of the cluster only if asked to; the log says which way, and why."""
    with capture_logs() as logs:
        settings = reaching(Settings(scrape_via=asked), in_cluster=in_cluster)
    assert settings.scrape_via == via
    (line,) = logs
    assert (line["event"], line["via"]) == ("scraping_of_pods", via)
    assert ("--scrape-via apiserver-proxy" in line["why"]) == (asked == "auto" and not in_cluster)
