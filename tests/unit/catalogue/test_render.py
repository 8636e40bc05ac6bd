import subprocess
import sys
from pathlib import Path

from reporter.catalogue.reasons import REASONS
from reporter.catalogue.render import reasons_page

PAGE = Path(__file__).parents[3] / "docs" / "reasons.md"


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
