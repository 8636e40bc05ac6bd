import subprocess
import sys
from pathlib import Path

from reporter.catalogue.reasons import REASONS
from reporter.catalogue.render import reasons_page
from reporter.catalogue.render_runtime import runtime_page
from reporter.catalogue.runtime import DOWNLOADS, RUNTIME
from reporter.catalogue.silencing import SILENCING

PAGE = Path(__file__).parents[3] / "docs" / "reasons.md"
RUNTIME_PAGE = PAGE.with_name("runtime.md")


def test_the_page_is_what_the_catalogue_says():
    """Documentation and code cannot drift apart; `make docs` renders the page anew."""
    assert PAGE.read_text() == reasons_page()


def test_the_module_prints_the_page():
    """`make docs` runs the module."""
    command = [sys.executable, "-m", "reporter.catalogue.render"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == reasons_page()


def test_every_reason_has_a_section_with_its_facts():
    """No reason is left out, and no cell breaks the table."""
    page = reasons_page()
    for reason in REASONS:
        section = page.split(f"### {reason.name}\n")[1].split("\n### ")[0]
        assert reason.summary in section
        rows = [line for line in section.splitlines() if line.startswith("|")]
        assert all(line.count("|") - line.count("\\|") == 3 for line in rows)


def test_the_tables_of_the_runtime_page_are_what_the_catalogue_says():
    text = RUNTIME_PAGE.read_text()
    assert text == runtime_page(text)
    for reason in (*DOWNLOADS, *RUNTIME):
        assert f"| `{reason.name}` | {reason.window_seconds} s |" in text
        assert all(f"| `{each.name}` | {each.default:g} |" in text for each in reason.thresholds)
    rows = [row for row in SILENCING if row.upstream.startswith("inferenceset")]
    assert all(f"| `{row.upstream}` | " in text for row in rows)


def test_tables_are_rendered_and_the_rest_stays():
    page = runtime_page("before\n<!-- rendered: silencing -->\nold\n<!-- end -->\nafter\n")
    assert page.startswith("before\n<!-- rendered: silencing -->\n| while")
    assert page.endswith("|\n<!-- end -->\nafter\n")
    assert "old\n" not in page


def test_the_module_prints_the_runtime_page():
    command = [sys.executable, "-m", "reporter.catalogue.render_runtime", str(RUNTIME_PAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == RUNTIME_PAGE.read_text()
