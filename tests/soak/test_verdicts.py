"""The soak fails if something is wrong: each bound, broken on its own."""

import pytest

from tests.soak.measuring import Point, Record
from tests.soak.verdicts import Soaked, rows

MB = 1_000_000


def soaked(*, good=(60, 61), bad=(12,), growth=0, slow=0, passes=25, age=1.0):
    """Two minutes of scrapes each two seconds, in which nothing is wrong."""

    def point(at):
        part = at / 120
        count = {
            "status_reporter_pass_duration_seconds_count": passes * part,
            "status_reporter_pass_duration_seconds_bucket:1.0": (passes - slow) * part,
        }
        return Point(at, 100 * MB + round(growth * at), at / 10, age, count)

    record = Record([point(float(at)) for at in range(0, 121, 2)])
    return Soaked(interval=2, resync=5, good=good, bad=bad, record=record)


def broken(found):
    return [row.name.strip() for row in rows(found) if not row.met]


def test_nothing_is_wrong():
    assert broken(soaked()) == []


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        pytest.param({"good": (60, 50)}, "least of a good pod", id="one was delayed"),
        pytest.param({"good": (60, 70)}, "most of a good pod", id="one was asked too often"),
        pytest.param({"bad": (12, 0)}, "least of a bad pod", id="one was given up"),
        pytest.param({"growth": MB / 30}, "memory growth", id="memory grows"),
        pytest.param({"passes": 15}, "passes", id="passes waited"),
        pytest.param({"slow": 1}, "longer than 1.0 s", id="a slow pass"),
        pytest.param({"age": 9.0}, "longest time without one", id="one pass waited"),
    ],
)
def test_each_bound_counts(wrong, named):
    assert broken(soaked(**wrong)) == [named]
