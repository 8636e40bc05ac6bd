"""Entry points of the programs."""

from reporter.interrupts import end_quietly


def main() -> int:
    end_quietly()
    from reporter.cli.main import main as program

    return program()


def plugin() -> int:
    end_quietly()
    from reporter.cli.main import exit_status

    return exit_status(_plugin, "kubectl status-reporter")


def plugin_completion() -> int:
    end_quietly()
    from reporter.cli.main import exit_status

    return exit_status(_completion, "kubectl status-reporter")


def _plugin() -> int:
    from reporter.cli.kubectl import program

    return program()


def _completion() -> int:
    from reporter.cli.kubectl import complete as program

    return program()
