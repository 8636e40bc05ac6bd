"""Text that is made to be slow for a pattern."""

from reporter.model.text import clean
from tests.attacks.attack import attack, growth


@attack("words with two blanks between in a condition's message")
def _(folder):
    return growth(lambda size: lambda: clean("abcdefghijklmnop  " * size + "A" * 200), 50)
