"""Entry points of the programs."""

from reporter.interrupts import end_quietly


def main() -> int:
    end_quietly()
    from reporter.cli.main import main as program

    return program()


def plugin() -> int:
    end_quietly()
    from reporter.cli.kubectl import program

    return program()


def plugin_completion() -> int:
    end_quietly()
    from reporter.cli.kubectl import complete

    return complete()
