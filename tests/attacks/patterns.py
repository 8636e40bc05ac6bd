"""Text that is made to be slow for a pattern."""

import time
from functools import partial

from reporter.diagnosis.logs import read_log
from reporter.diagnosis.signatures import built_in
from reporter.model.text import clean, clean_lines, redact
from tests.attacks.all_patterns import Run, all_patterns, made_in_functions, runs_for, use
from tests.attacks.attack import Outcome, TookTooLongError, at_most, attack, attacks, growth

MADE_IN_FUNCTIONS = {
    "lab.sandbox.schema._validate",  # the user's own CustomResourceDefinitions
    "reporter.diagnosis.case.events_with",  # the name of a container, escaped
    "reporter.diagnosis.texts.meaning",  # rows of our own, which are tried
    "reporter.diagnosis.signatures._signature",  # a user's own are checked, ours are tried
    "reporter.metrics.pages.reader.__init__",  # tried by tests/fuzz
    "reporter.metrics.pages.reader.has_name_with",  # as above
    "reporter.snapshot.outputs.masking._number",  # names of the dump, escaped
}

_SIZE = 1_000
_QUICK = 0.002
"""Seconds within which nothing that grows with the square gets over a text of `_SIZE` characters."""


TEXTS = {
    "words with two blanks between, and a long one": Run("", "abcdefghijklmnop  ", "A" * 200),
    "digests with two blanks between": Run("", f"  {'0a1b' * 16}", "!"),
    "lines of base64": Run("", f"{'aA0+' * 16}\n", "!"),
    "lines of base64, written out": Run("", f"{'aA0+' * 16}\\n", "!"),
    "line ends, written out": Run("A" * 64, "\\n", "!"),
    "ends of private keys": Run("", "-----END PRIVATE KEY-----", "!"),
    "words before the end of a private key": Run("", "aA0+" * 5 + " ", "-----END RSA PRIVATE KEY-----"),
    "beginnings of private keys": Run("", "-----BEGIN A ", "!"),
    "keys": Run("", "key ", "!"),
    "keys with values": Run("", "key=a ", "!"),
    "keys with quotes": Run("", 'token="', "!"),
    "a quoted value of backslashes": Run('token=\\"', "\\", "!"),
    "keys with backslashes": Run("", "token\\", "!"),
    "flags without values": Run("", "--key", "!"),
    "a user of equals signs": Run("curl -u ", "=", "!"),
    "beginnings of web tokens": Run("", "eyJ-", "!"),
    "user names": Run("", "a@", "!"),
    "colons and at signs": Run("", "a:@", "!"),
    "schemes of URLs": Run("", "ab://", "!"),
    "queries of URLs": Run("", "ab://a?", "!"),
    "colours of a terminal": Run("", "\x1b[", "!"),
    "colours that do not end": Run("\x1b[", "0;", "\n"),
    "characters that nobody sees": Run("", "\u200b", "token=x"),
    "blanks": Run("", " ", "!"),
    "line ends": Run("", "\n", "!"),
}  # fmt: skip


@attacks(TEXTS)
def _(folder, run):
    def work(size):
        text = run.text(size)
        return lambda: (redact(text), clean_lines(text), clean(text))

    return growth(work, 1_000, most=3)


@attacks(
    {f"runs of everything for every pattern of the program, part {n + 1}": n for n in range(4)}
)
def _(folder, part):
    slow, count = [], 0
    patterns = all_patterns()[part::4]
    for found in patterns:
        for method in found.methods:
            for run in runs_for(found.pattern):
                count += 1
                if trouble := _trouble(found, method, run):
                    slow.append(f"{found.place}.{method} on {run}: {trouble}")
                    break
    figure = f"{len(patterns)} patterns, {count} texts; slow: {'; '.join(slow) or 'none'}"
    return Outcome(held=not slow, figure=figure)


@attack("patterns that functions make of what they are given")
def _(folder):
    more = made_in_functions() - MADE_IN_FUNCTIONS
    return Outcome(held=not more, figure=f"{sorted(more) or 'none'} beside those that are tried")


_LINE = '{{"level": "error", "msg": "{}"}}\n'
LOGS = {
    "other lines in a line of JSON": lambda n: _LINE.format("\\n".join(map(str, range(n // 8)))),
    "other lines in lines of JSON": lambda n: _LINE.format("\\n".join(map(str, range(8_000)))) * (n // 48_000),
    "other lines": lambda n: "".join(f"Error: {each}\n" for each in range(n // 14)),
    "long lines": lambda n: "".join(f"Error: {each} {'a b=' * 1_000}\n" for each in range(n // 4_014)),
    "prefixes of loggers": lambda n: "(APIServer pid=1) " * (n // 18),
    "a line without an end": lambda n: "a" * n,
}  # fmt: skip


@attacks({f"a log of a mebibyte of {name}": row for name, row in LOGS.items()}, quick=False)
def _(folder, make):
    text = make(2**20)
    before = time.process_time()
    with at_most(20):
        read_log(text, built_in())
    took = time.process_time() - before
    return Outcome(held=took < 4, figure=f"{len(text)} characters are read in {took:.1f} s")


def _trouble(found, method, run):
    text = run.text(_SIZE)
    before = time.process_time()
    try:
        with at_most(2):
            use(found, method, text)
        if time.process_time() - before < _QUICK:
            return ""
        outcome = growth(lambda size: partial(use, found, method, run.text(size)), _SIZE)
    except TookTooLongError as error:
        return str(error)
    return "" if outcome.held else outcome.figure
