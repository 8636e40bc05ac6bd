"""A report again on every change: on a terminal in its place, elsewhere what is news."""

import io

from reporter.cli.rendering import Screen, View
from reporter.model.subject import ObjectRef
from tests.unit.sinks.test_report_text import finding, report


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def seen(self):
        """What stands there: what follows the last move to the top left."""
        return self.getvalue().rpartition("\x1b[H")[2].replace("\x1b[K", "").removesuffix("\x1b[J")


def view(*findings):
    return View(report=report(*findings), document=bytes, page=str)


QUIET = "Nothing fires at 2026-11-20T12:00:00Z.\n"
OTHER = ObjectRef("v1", "Namespace", "", "other")


def test_a_remark_is_no_output_where_nothing_can_be_redrawn():
    """It stands once among the errors, and what is printed after it is whole again."""
    output, errors = io.StringIO(), io.StringIO()
    screen = Screen(output, errors)
    screen.show(view(), "text")
    screen.remark("lost", keep=True)
    screen.remark("lost", keep=True)
    assert (output.getvalue(), errors.getvalue()) == (QUIET, "lost\n")
    screen.show(view(), "text")
    assert output.getvalue() == QUIET * 2


def test_a_remark_stands_above_what_is_kept_on_a_terminal():
    terminal, errors = Terminal(), io.StringIO()
    screen = Screen(terminal, errors)
    screen.show(view(), "text")
    screen.remark("lost", keep=True)
    assert terminal.seen() == f"lost\n\n{QUIET}"
    screen.remark("there is nothing")
    assert terminal.seen() == "there is nothing\n"
    screen.show(view(), "text")
    assert terminal.seen() == QUIET
    assert errors.getvalue() == ""


def test_what_is_new_changed_and_gone_is_marked_and_the_rest_not_printed_again():
    """Where nothing can be redrawn it is all that is printed; on a terminal it stands above the rest."""
    steps = [
        (finding(), finding(involved=OTHER)),
        (finding(message="another Gateway"), finding(involved=OTHER)),
        (finding(message="another Gateway"), finding(involved=OTHER)),
        (finding(message="another Gateway"),),
    ]
    output, drawn = io.StringIO(), Terminal()
    told, screens = [], [Screen(output, output), Screen(drawn, drawn)]
    for each in steps:
        before = len(output.getvalue())
        for screen in screens:
            screen.show(view(*each), "text")
        told.append(output.getvalue()[before:].splitlines())
    name = "modelharnessGatewayProgrammingFailed  namespace/team"
    assert "To do" in "".join(told[0])
    assert told[1][1:] == [f"~ {name}  firing  another Gateway"]
    assert told[2] == []
    assert told[3][1:] == [f"- {name}"]
    assert "Since 2026-11-20T12:00:00Z:" in drawn.seen()
    assert f"    - {name}" in drawn.seen()
