"""When writes may start."""

from reporter.daemon.passes import WriteGate


def test_only_a_leader_may_write():
    leads = [False]
    gate = WriteGate(lambda: leads[0], lambda: 0)
    gate.planned()
    assert not gate.may_write()
    leads[0] = True
    assert gate.may_write()


def test_after_a_pause_nothing_is_written_before_there_is_a_new_plan():
    """What was planned before a pause of the process may be wrong by now."""
    pauses = [0]
    gate = WriteGate(lambda: True, lambda: pauses[0])
    assert gate.may_write()
    pauses[0] = 1
    assert gate.outdated
    assert not gate.may_write()
    gate.planned()
    assert gate.may_write()
