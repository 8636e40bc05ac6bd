"""The stacks: ways of deploying models. Each is a folder, and a row here.

Tables, settings, probes, daemon, documentation, chart and page read these values and know no stack by
its name.
"""

from collections.abc import Iterable
from typing import Final

from reporter.catalogue.shared_parts import built_in
from reporter.stacks.dialects.reading import Dialect, shipped
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


def stacks_with(own: Iterable[Dialect]) -> tuple[Stack, ...]:
    """Return the stacks, with dialects of the user's own beside those of the program.

    Raises:
        UsageError: one is of a kind, or has a subject, that is taken.

    """
    return (*_OF_CODE, dialect_stack((*shipped(), *own), LEADERWORKERSETS, _OF_CODE))


STACKS: Final[tuple[Stack, ...]] = stacks_with(())
"""In the order of the documentation."""

BUILT_IN: Final = built_in(STACKS)
"""The catalogue without anything that a user declares."""
