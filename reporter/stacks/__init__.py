"""The stacks: ways of deploying models. Each is a folder, and a row here.

Tables, settings, probes, daemon, documentation, chart and page read these values and know no stack
by its name.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from reporter.catalogue.shared_parts import built_in
from reporter.stacks.dialects.reading import read_dialects, shipped
from reporter.stacks.dialects.stack import dialect_stack
from reporter.stacks.kaito.stack import KAITO
from reporter.stacks.kserve.stack import KSERVE
from reporter.stacks.kthena.stack import KTHENA
from reporter.stacks.llmisvc.stack import LLMISVC
from reporter.stacks.otterscale.stack import OTTERSCALE
from reporter.stacks.stack import Stack
from reporter.stacks.workloads.reasons import LEADERWORKERSETS
from reporter.stacks.workloads.stack import WORKLOADS

_OF_CODE: Final[tuple[Stack, ...]] = (KAITO, KTHENA, OTTERSCALE, KSERVE, LLMISVC, WORKLOADS)


def stacks_with(file: Path | None) -> tuple[Stack, ...]:
    """Return the stacks, with the dialects of a file of the user's own beside those of the program.

    Raises:
        UsageError: it cannot be read; or a dialect is wrong, or of a kind or subject that is taken.

    """
    own = read_dialects(file)
    return (*_OF_CODE, dialect_stack((*shipped(), *own), LEADERWORKERSETS, _OF_CODE))


STACKS: Final[tuple[Stack, ...]] = stacks_with(None)
"""In the order of the documentation."""

DIALECTS: Final = STACKS[-1].name
"""The stack whose kinds are files."""

BUILT_IN: Final = built_in(STACKS)
"""The catalogue without anything that a user declares."""


def describe_dialects(file: Path, sources: Sequence[str]) -> Iterator[str]:
    """Yield what the dialects of a file read, and what their paths find in a dump.

    Raises:
        UsageError: the file cannot be read, or a dialect is wrong.

    """
    from reporter.stacks.dialects.describe import describe

    stacks_with(file)
    return describe(read_dialects(file), sources)
