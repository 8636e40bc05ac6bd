"""Whether writes may start."""

from collections.abc import Callable


class WriteGate:
    """Open while this replica leads and the process has not paused since the newest plan was made.

    After a pause the cluster may be another one and somebody else may lead, so a plan from before
    it must not be carried out. The gate opens again with the next plan.

    Args:
        leading: whether this replica leads.
        pauses: how often the process has paused.

    """

    def __init__(self, leading: Callable[[], bool], pauses: Callable[[], int]) -> None:
        self._leading = leading
        self._pauses = pauses
        self._planned_after = pauses()

    @property
    def outdated(self) -> bool:
        """Whether the process has paused since the newest plan was made."""
        return self._pauses() != self._planned_after

    def may_write(self) -> bool:
        """Tell whether a write may start now."""
        return not self.outdated and self._leading()

    def planned(self) -> None:
        """Note that there is a new plan."""
        self._planned_after = self._pauses()
