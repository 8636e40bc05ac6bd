"""Steps of a pass that come to what they came to before."""

from reporter.resolution.memory import Steps


def passes(*given):
    """What each pass makes of what it is given, and how often the step was taken."""
    steps, made, found = Steps(), [], []
    for each in given:
        steps = Steps(steps.taken)

        def step(each=each):
            made.append(each)
            return each * 2

        found.append(steps.take("double", (each,), step))
    return found, made


def test_a_step_is_taken_once_for_as_long_as_it_is_given_the_same():
    assert passes(1, 1, 1, 2, 2) == ([2, 2, 2, 4, 4], [1, 2])


def test_what_is_given_again_after_something_else_is_taken_again():
    assert passes(1, 2, 1) == ([2, 4, 2], [1, 2, 1])


def test_what_does_not_last_is_taken_again():
    first = Steps()
    assert first.take("clock", (1,), lambda: 5, lasts=lambda _: False) == 5
    assert Steps(first.taken).take("clock", (1,), lambda: 6) == 6
