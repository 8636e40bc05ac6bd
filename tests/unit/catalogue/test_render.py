import shutil
from pathlib import Path

import pytest

from reporter.catalogue.render import users_get
from reporter.catalogue.runtime import DOWNLOADS, RUNTIME
from reporter.stacks import BUILT_IN
from tests.tables import POD_SUPPRESSION, REASONS
from tools.generated import CHART, outdated
from tools.pages import escape, of_any_kind, reasons_page, runtime_page

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reasons.md"
RUNTIME_PAGE = PAGE.with_name("runtime.md")


def test_generated_files_are_as_the_tables_say():
    """`make docs-check` runs the same; `make docs` writes them."""
    assert list(outdated(ROOT, BUILT_IN)) == []


def test_a_file_that_is_not_as_the_tables_say_is_shown(tmp_path):
    root = tmp_path / "checkout"
    for each in ("docs", "helm"):
        shutil.copytree(ROOT / each, root / each)
    page = root / "docs" / "reasons.md"
    page.write_text(page.read_text().replace("# Reasons", "# Grounds", 1))
    (root / CHART / "files" / "cluster-role" / "nobody.yaml").write_text("")
    shown, stray = outdated(root, BUILT_IN)
    assert "-# Grounds\n+# Reasons\n" in shown
    assert stray.endswith("nobody.yaml belongs to no stack\n")


def test_every_reason_has_a_section_with_its_facts():
    """No reason is left out; what a dialect's kind shares with the others is said for all of them."""
    page = reasons_page(BUILT_IN)
    for reason in REASONS:
        section = page.split(f"### {reason.heading}\n")[1].split("\n### ")[0]
        stack = BUILT_IN.stack_of(reason.subject_kind)
        if stack is None or stack.name != "dialects":
            assert reason.name in section or reason.name == reason.heading
            assert escape(of_any_kind(reason.summary, reason, BUILT_IN)) in section
        else:
            assert f"`KIND{reason.heading}`" in section


def test_the_tables_of_the_runtime_page_are_what_the_catalogue_says():
    text = RUNTIME_PAGE.read_text()
    assert text == runtime_page(text, BUILT_IN)
    for reason in (*DOWNLOADS, *RUNTIME):
        assert f"| `inferenceset{reason.name}` | {reason.window_seconds} s |" in text
        assert all(f"| `{each.name}` | {each.default:g} |" in text for each in reason.thresholds)
    rows = [row for row in POD_SUPPRESSION if row.upstream.startswith("inferenceset")]
    assert all(f"`{row.upstream}`" in text for row in rows)


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
    assert users_get(BUILT_IN[name]).startswith(answer)


def test_what_is_the_same_for_the_models_of_all_kinds_is_said_once():
    page = reasons_page(BUILT_IN)
    stalled = BUILT_IN["inferencesetEngineStalled"]
    assert page.count(escape(stalled.summary)) == 1
    section = page.partition("### EngineStalled\n")[2].partition("\n### ")[0]
    assert "`inferencesetEngineStalled`, `modelservingEngineStalled`" in section


def test_the_stacks_page_says_of_each_fault_where_it_is_told():
    """A reason, the one that it is part of, or why there is none: no cell is empty."""
    text = (ROOT / "docs" / "stacks.md").read_text()
    rows = text.partition("<!-- rendered: faults -->\n")[2].partition("<!-- end -->")[0]
    cells = [cell.strip() for row in rows.splitlines()[2:] for cell in row.split("|")[1:-1]]
    assert cells
    assert all(cells)
