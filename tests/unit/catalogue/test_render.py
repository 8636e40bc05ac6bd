import shutil
from pathlib import Path

import pytest

from reporter.catalogue.runtime import DOWNLOADS, RUNTIME
from reporter.stacks import BUILT_IN
from tests.tables import POD_SUPPRESSION, REASONS
from tools.generated import CHART, outdated
from tools.pages import reasons_page, runtime_page, stack_pages

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reasons.md"
RUNTIME_PAGE = PAGE.with_name("runtime.md")


def test_the_page_is_what_the_catalogue_says():
    """Documentation and code cannot drift apart; `make docs` renders the page again."""
    assert PAGE.read_text() == reasons_page(BUILT_IN)


def test_generated_files_are_as_the_tables_say():
    """`make docs-check` runs the same; `make docs` writes them."""
    assert list(outdated(ROOT, BUILT_IN)) == []


def test_a_file_that_is_not_as_the_tables_say_is_shown(tmp_path):
    """With the difference, so that one sees what to render again."""
    root = tmp_path / "checkout"
    for each in ("docs", "helm"):
        shutil.copytree(ROOT / each, root / each)
    page = root / "docs" / "reasons.md"
    page.write_text(page.read_text().replace("# Reasons", "# Grounds", 1))
    (root / CHART / "files" / "cluster-role" / "nobody.yaml").write_text("")
    shown, stray = outdated(root, BUILT_IN)
    assert "-# Grounds\n+# Reasons\n" in shown
    assert stray.endswith("nobody.yaml is of no stack\n")


def test_every_reason_has_a_section_with_its_facts():
    """No reason is left out, and no cell breaks the table."""
    pages = {"": reasons_page(BUILT_IN), **stack_pages(BUILT_IN)}
    for reason in REASONS:
        page = pages[BUILT_IN.page_of(reason)]
        assert f"]({BUILT_IN.page_of(reason)}#{reason.name.lower()})" in pages[""]
        section = page.split(f"### {reason.name}\n")[1].split("\n### ")[0]
        assert reason.summary in section
        rows = [line for line in section.splitlines() if line.startswith("|")]
        assert all(line.count("|") - line.count("\\|") == 3 for line in rows)


def test_the_tables_of_the_runtime_page_are_what_the_catalogue_says():
    text = RUNTIME_PAGE.read_text()
    assert text == runtime_page(text, BUILT_IN)
    for reason in (*DOWNLOADS, *RUNTIME):
        assert f"| `inferenceset{reason.name}` | {reason.window_seconds} s |" in text
        assert all(f"| `{each.name}` | {each.default:g} |" in text for each in reason.thresholds)
    rows = [row for row in POD_SUPPRESSION if row.upstream.startswith("inferenceset")]
    assert all(f"| `{row.upstream}` | " in text for row in rows)


def test_tables_are_rendered_and_the_rest_stays():
    page = runtime_page(
        "before\n<!-- rendered: suppression -->\nold\n<!-- end -->\nafter\n", BUILT_IN
    )
    assert page.startswith("before\n<!-- rendered: suppression -->\n| while")
    assert page.endswith("|\n<!-- end -->\nafter\n")
    assert "old\n" not in page


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("inferencesetModelPodsNotReady", "Yes, where the model is not serving"),
        ("inferencesetWeightDownloadSlow", "Yes, where no other pod of the model serves"),
        ("inferencesetWeightDownloadStalled", "Yes, where no other pod of the model serves"),
        ("inferencesetKVCacheSaturated", "Some may: the model serves"),
    ],
)
def test_whether_users_get_errors_is_a_question_with_an_answer(name, answer):
    """A pod that still downloads is not Ready, so perhaps nothing of its model serves."""
    page = stack_pages(BUILT_IN)["reasons-kaito.md"]
    row = page.partition(f"### {name}\n")[2].partition("\n| Do users get errors | ")[2]
    assert row.startswith(answer)


def test_what_holds_for_most_reasons_is_said_once():
    """The index says how any of them is switched off; a section has what is its own."""
    page = stack_pages(BUILT_IN)["reasons-kthena.md"]
    assert "**Switch off**: `--disable-reasons REASON`" in reasons_page(BUILT_IN)
    assert "--disable-reasons modelservingInvalidSpec" not in page


def test_a_reason_from_metrics_is_described_once():
    """Those of other stacks differ in names alone, and lead to the first one."""
    page = stack_pages(BUILT_IN)["reasons-kthena.md"]
    section = page.partition("### modelservingEngineStalled\n")[2].partition("\n### ")[0]
    assert "(reasons-kaito.md#inferencesetenginestalled)" in section
    assert "Raised when" not in section
