"""The simulated pages have the shape of the sample pages."""

from lab.simulation import Life, Phase, render
from tests.unit.lab.simulation.reading_pages import Page, families, label_sets
from tests.unit.metrics.pages.reading import DOWNLOAD, VLLM

START = 1_780_000_000.0


def page(phase: Phase = Phase.SATURATED) -> str:
    """Return the page after an hour in a phase."""
    life = Life(START)
    life.become(phase, START)
    life.advance(START + 3600)
    return render(life)


def test_families_types_and_labels_are_the_sample_s():
    """The sample's server had two engines and more options on."""
    sample = label_sets(families(VLLM.decode()))
    found = label_sets(families(page()))
    of_kaito = {key for key in found if key[1].startswith("kaito_")}
    assert len(of_kaito) == 4
    for key in found.keys() - of_kaito:
        assert found[key] <= sample[key], key


def test_the_download_page_has_the_sample_s_families_and_nothing_of_vllm():
    expected = label_sets(families(DOWNLOAD.decode()))
    assert label_sets(families(page(Phase.DOWNLOADING))) == expected


def test_totals_that_say_the_same_in_two_ways_agree():
    served = Page(page())

    def total(name: str) -> float:
        return served.sum(f"vllm:{name}")

    assert total("request_success_total") == total("e2e_request_latency_seconds_count") > 0
    assert total("prompt_tokens_by_source_total") == total("prompt_tokens_total")
    assert total("num_requests_waiting_by_reason") == total("num_requests_waiting") > 0
    first, later = "time_to_first_token_seconds_count", "inter_token_latency_seconds_count"
    assert total("generation_tokens_total") == total(first) + total(later)


def test_buckets_never_fall_and_the_last_is_the_count():
    for family in families(page()):
        rows: dict[str, list[float]] = {}
        for each in family.samples:
            if each.name.endswith("_bucket"):
                key = str({name: value for name, value in each.labels.items() if name != "le"})
                rows.setdefault(key, []).append(each.value)
        counts = [each.value for each in family.samples if each.name.endswith("_count")]
        if family.type == "histogram":
            assert [row[-1] for row in rows.values()] == counts
            assert all(row == sorted(row) for row in rows.values())
