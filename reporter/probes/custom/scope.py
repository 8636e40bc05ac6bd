"""What the probes of one declaration are given."""

from dataclasses import dataclass

from reporter.model.catalogue import Declared
from reporter.probes.scope import Scope


@dataclass(frozen=True, kw_only=True)
class DeclaredScope(Scope):
    """The cluster, and what a user declared."""

    declared: Declared
