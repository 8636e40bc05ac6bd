"""The settings of scraping and of what is judged by numbers."""

import pytest
from pydantic import ValidationError

from reporter.arguments import Parser
from reporter.catalogue import runtime as t
from reporter.cli.configure import add_setting_flags, settings_from
from reporter.errors import UsageError
from reporter.stacks.settings import FullEvaluationSettings


def of_set(reason):
    """The name by which settings call a reason that comes from metrics."""
    return FullEvaluationSettings.metrics_name(reason)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"disable_reasons": "inferencesetKVCache"}, "did you mean inferencesetKVCacheSaturated"),
        ({"grace": "inferencesetWeightDownloadSlo=5"}, "did you mean inferencesetWeightDownloadSlow"),
        ({"grace": of_set(t.KV_CACHE)}, "has no ="),
        ({"runtime_threshold": "kv-use=0.5"}, "did you mean kv-usage?"),
        ({"runtime_threshold": "kv-usage=1.5"}, "is not in 0 to 1"),
        ({"runtime_threshold": "kv-usage=nan"}, "finite"),
        ({"grace": f"{of_set(t.KV_CACHE)}=86400"}, "87 or more"),
        ({"scrape_interval_seconds": 1, "weight_download_window_seconds": 1500}, "2 or more"),
    ],
)  # fmt: skip
def test_refused(settings, says):
    with pytest.raises(ValidationError, match=says.replace("?", r"\?")) as raised:
        FullEvaluationSettings(**settings)
    assert says in str(raised.value)


def test_a_long_window_with_a_long_interval_is_taken():
    settings = FullEvaluationSettings(
        grace=f"{of_set(t.KV_CACHE)}=86400", scrape_interval_seconds=90
    )
    assert settings.longest_window_seconds == 86400


def test_window_of_a_reason():
    assert FullEvaluationSettings().window_seconds(t.KV_CACHE) == 300
    assert FullEvaluationSettings(grace={of_set(t.KV_CACHE): 30}).window_seconds(t.KV_CACHE) == 30
    assert FullEvaluationSettings(grace={of_set(t.KV_CACHE): 0}).window_seconds(t.KV_CACHE) == 300
    download = FullEvaluationSettings(weight_download_window_seconds=90)
    assert download.window_seconds(t.DOWNLOAD_SLOW) == 90
    both = FullEvaluationSettings(
        weight_download_window_seconds=90, grace={of_set(t.DOWNLOAD_SLOW): 900}
    )
    assert both.window_seconds(t.DOWNLOAD_SLOW) == both.longest_window_seconds == 900
    assert FullEvaluationSettings(startup_grace_seconds=0).window_seconds(t.KV_CACHE) == 300


@pytest.mark.parametrize("reason", [t.DOWNLOAD_SLOW, t.DOWNLOAD_STALLED])
def test_window_of_a_download_reason(reason):
    """It is set like that of any other, and stands above the older setting."""
    settings = FullEvaluationSettings(
        grace=f"{of_set(reason)}=240", weight_download_window_seconds=90
    )
    assert settings.window_seconds(reason) == 240


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
        "--scrape-port=65536",
    ],
)
def test_what_is_not_allowed(flag):
    with pytest.raises(UsageError, match=flag.partition("=")[0]):
        settings(flag)
