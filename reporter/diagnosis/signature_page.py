"""docs/log-signatures.md, of which the table is rendered from the rows."""

from typing import Final

from reporter.diagnosis.signatures import Signature, built_in, texts

BEGIN: Final = "<!-- signatures: rendered by `make docs` -->\n"
END: Final = "<!-- end of signatures -->\n"


def signature_page(page: str) -> str:
    """Return the page with the table of signatures in its place."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = "".join(map(_row, built_in()))
    head = "| id | class | sureness | container | what it means | what to do | pattern | source |\n"
    return f"{before}{BEGIN}\n{head}|{' --- |' * 8}\n{rows}\n{END}{after}"


def _row(signature: Signature) -> str:
    row = signature.row
    source = "; ".join(each for each in (row.source, row.versions) if each)
    cells = (
        f"`{signature.id}`",
        row.kind,
        row.sureness,
        row.container,
        " / ".join(texts(row.means)),
        " / ".join(texts(row.do)),
        f"`{row.match.replace('|', chr(92) + '|')}`",
        source,
    )
    return f"|{'|'.join(cells)}|\n"
