"""The settings of scraping."""

import pytest

from reporter.arguments import Parser
from reporter.cli.configure import add_setting_flags, settings_from
from reporter.errors import UsageError


def settings(*argv):
    parser = Parser("run", "test")
    add_setting_flags(parser, daemon=True)
    return settings_from(parser.parse(argv))


@pytest.mark.parametrize(
    ("argv", "period"),
    [
        ([], 15.0),
        (["--scrape-via=apiserver-proxy"], 60.0),
        (["--scrape-interval-seconds=30"], 30.0),
        (["--scrape-via=apiserver-proxy", "--scrape-interval-seconds=20"], 20.0),
    ],
)
def test_the_period_follows_the_way(argv, period):
    """The API server is asked less often, unless somebody says otherwise."""
    assert settings(*argv).scrape_period == period


@pytest.mark.parametrize("flag", ["--scrape-port", "--weight-download-metric-port"])
def test_the_port_has_the_name_of_the_reference_too(flag):
    """A command line that worked goes on working."""
    assert settings(flag, "8000").scrape_port == 8000


@pytest.mark.parametrize(
    "flag",
    [
        "--scrape-via=proxy",
        "--scrape-interval-seconds=0",
        "--scrape-interval-seconds=soon",
        "--scrape-timeout-seconds=0",
        "--scrape-concurrency=1",
        "--scrape-port=65536",
        "--scrape-path=metrics",
        "--scrape-path=/metrics?name[]=a",
        "--scrape-path=/../../secrets",
        "--scrape-scheme=ftp",
        "--scrape-selector=app=vllm",
        "--scrape-selector=",
        "--scrape-max-bytes=1",
        "--scrape-max-series=0",
    ],
)
def test_what_is_not_allowed(flag):
    with pytest.raises(UsageError, match=flag.partition("=")[0]):
        settings(flag)
