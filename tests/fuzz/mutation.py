"""Inputs for a target, made from seeds without knowledge of the code."""

import random
from collections.abc import Iterator, Sequence
from typing import Final

_LONGEST: Final = 200_000
_MOST_CHANGES: Final = 6


def mutations(
    seeds: Sequence[bytes], tokens: Sequence[bytes], dice: random.Random
) -> Iterator[bytes]:
    """Yield inputs without end: the seeds, then what becomes of them."""
    yield from seeds
    while True:
        data = dice.choice(seeds)
        for _ in range(dice.randint(1, _MOST_CHANGES)):
            data = dice.choice(_CHANGES)(data, tokens, dice)[:_LONGEST]
        yield data


def _cut(data: bytes, _: Sequence[bytes], dice: random.Random) -> bytes:
    return data[: dice.randint(0, len(data))]


def _remove(data: bytes, _: Sequence[bytes], dice: random.Random) -> bytes:
    start, end = _span(data, dice)
    return data[:start] + data[end:]


def _repeat(data: bytes, _: Sequence[bytes], dice: random.Random) -> bytes:
    start, end = _span(data, dice)
    return data[:end] + data[start:end] * dice.choice((1, 1, 2, 50)) + data[end:]


def _move(data: bytes, _: Sequence[bytes], dice: random.Random) -> bytes:
    start, end = _span(data, dice)
    rest = data[:start] + data[end:]
    at = dice.randint(0, len(rest))
    return rest[:at] + data[start:end] + rest[at:]


def _insert(data: bytes, tokens: Sequence[bytes], dice: random.Random) -> bytes:
    at = dice.randint(0, len(data))
    token = dice.choice(tokens) * dice.choice((1, 1, 1, 2, 1000))
    return data[:at] + token + data[at:]


def _overwrite(data: bytes, tokens: Sequence[bytes], dice: random.Random) -> bytes:
    at = dice.randint(0, len(data))
    token = dice.choice(tokens)
    return data[:at] + token + data[at + len(token) :]


def _flip(data: bytes, _: Sequence[bytes], dice: random.Random) -> bytes:
    if not data:
        return data
    at = dice.randrange(len(data))
    return data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]


_CHANGES: Final = (_cut, _remove, _repeat, _move, _insert, _overwrite, _flip)


def _span(data: bytes, dice: random.Random) -> tuple[int, int]:
    """Return the ends of a part of the data, mostly a short one."""
    start = dice.randint(0, len(data))
    return start, min(len(data), start + dice.choice((1, 8, 100, 2_000)))
