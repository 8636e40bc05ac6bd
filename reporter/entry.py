"""Where the program starts."""

from reporter.interrupts import end_quietly


def main() -> int:
    """Run `status-reporter` with the arguments of the process; return its exit status."""
    end_quietly()
    from reporter.cli.main import main as program

    return program()


def plugin() -> int:
    """Run `kubectl status-reporter` with the arguments of the process; return its exit status."""
    end_quietly()
    from reporter.cli.main import exit_status

    return exit_status(_plugin, "kubectl status-reporter")


def plugin_completion() -> int:
    """Answer kubectl what may be typed next; return the exit status."""
    end_quietly()
    from reporter.cli.main import exit_status

    return exit_status(_completion, "kubectl status-reporter")


def _plugin() -> int:
    from reporter.cli.kubectl import program

    return program()


def _completion() -> int:
    from reporter.cli.completion import program

    return program()
