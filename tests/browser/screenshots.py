"""Pictures of the page for the documentation: `python -m tests.browser.screenshots FOLDER`."""

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from reporter.cli import check
from reporter.sinks.page.build import page_view
from reporter.sinks.page.document import page_html
from reporter.sinks.page.history import History
from reporter.sinks.page.view import About
from tests.browser.missing import chromium
from tests.unit.sinks.page.reports import large

BROKEN = Path(__file__).parents[2] / "examples" / "broken-stack"
SIZES = {360: 740, 1280: 900, 3840: 2160}
PICTURES = (
    # name, page, width, colours
    ("page-1280-light", "broken", 1280, "light"),
    ("page-1280-dark", "broken", 1280, "dark"),
    ("page-360-light", "broken", 360, "light"),
    ("page-3840-light", "broken", 3840, "light"),
    ("page-1000-subjects", "large", 1280, "light"),
)


def broken() -> str:
    """Return the page of the broken example, as `check -o html` writes it."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        check.main(["--from", str(BROKEN), "-o", "html"])
    return out.getvalue()


def thousand() -> str:
    """Return the page of a large cluster."""
    report = large(1000, 30)
    return page_html(page_view(report, About(), History.of(report)))


def shoot(folder: Path) -> None:
    """Write the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        files = {"broken": broken, "large": thousand}
        for name, make in files.items():
            Path(temporary, f"{name}.html").write_text(make(), "utf-8")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium(), chromium_sandbox=os.geteuid() != 0
            )
            for name, page, width, colours in PICTURES:
                size = {"width": width, "height": SIZES[width]}
                tab = browser.new_page(viewport=size, color_scheme=colours)
                tab.goto(Path(temporary, f"{page}.html").as_uri())
                tab.screenshot(path=folder / f"{name}.png")
                tab.close()
            browser.close()


if __name__ == "__main__":
    shoot(Path(sys.argv[1]))
