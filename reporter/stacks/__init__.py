"""The stacks: ways of deploying models. Each is a folder, and a row here.

Tables, settings, probes, daemon, documentation, chart and page read these values and know no stack by
its name.
"""

from typing import Final

from reporter.catalogue.shared_parts import built_in
from reporter.stacks.kaito.stack import KAITO
from reporter.stacks.kserve.stack import KSERVE
from reporter.stacks.kthena.stack import KTHENA
from reporter.stacks.llmisvc.stack import LLMISVC
from reporter.stacks.otterscale.stack import OTTERSCALE
from reporter.stacks.stack import Stack
from reporter.stacks.workloads.stack import WORKLOADS

STACKS: Final[tuple[Stack, ...]] = (KAITO, KTHENA, OTTERSCALE, KSERVE, LLMISVC, WORKLOADS)
"""In the order of the documentation."""

BUILT_IN: Final = built_in(STACKS)
"""The catalogue without anything that a user declares."""
