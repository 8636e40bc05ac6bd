"""What SECURITY.md claims is held by tests that exist."""

import re

from tests.unit.docs.pages import PAGES, ROOT, section, table

PAGE = PAGES["SECURITY.md"]
TENANTS = table(section(PAGE, "## What a tenant can and cannot do"), "a tenant")


def test_each_claim_names_what_holds_it():
    claims = [held for _, held in TENANTS]
    for heading in ("## What the reporter may do", "## What it keeps secret"):
        claims += section(PAGE, heading).split("\n- ")[heading.endswith("secret") :]
    assert [each for each in claims if "`tests/" not in each and "`make bench`" not in each] == []


def test_what_holds_a_claim_exists():
    missing, file = [], ""
    for path, name in re.findall(r"`(tests/[\w/]+\.py)?(?:::(\w+))?`", PAGE):
        file = path or file
        text = (ROOT / file).read_text() if (ROOT / file).is_file() else ""
        if not text or (name and f"def {name}(" not in text):
            missing.append(f"{file}::{name}")
    assert missing == []
