"""Loops of a sequence in a form that does not depend on how its grammar was factored.

Sequitur names the same loop in many ways: it may begin anywhere in its body, and its first or last
iteration may stand outside. Here rules that only name a part are spelled out, every repetition is
found again, and a loop begins as far to the left as it can.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tisim.errors import InputError
from tisim.traces.tit.grammar import Grammar

#: Items that a program may have without its loops; more have no structure that could be fitted.
MOST_ITEMS = 20_000
# Parts of this many items are looked for as bodies of loops.
_LONGEST_BODY = 4_000


@dataclass(frozen=True)
class Repeat:
    """Items that follow one another so many times."""

    times: int
    body: tuple[Item, ...]


#: A call, by its number, or a loop.
Item = int | Repeat


def loops_of(grammar: Grammar, calls: Sequence[int | None]) -> tuple[Item, ...]:
    """The sequence of a grammar as calls and loops.

    Parameters
    ----------
    grammar
        The grammar of a class of ranks.
    calls
        What each of its terminals is; equal calls have equal numbers. None is left out.

    Raises
    ------
    InputError
        When hardly anything of the sequence repeats.
    """
    made: dict[int, tuple[Item, ...]] = {}
    for rule in _used_first(grammar):
        items: list[Item] = []
        for is_rule, number, times in grammar.rules[rule]:
            body = made[number] if is_rule else _call(calls[number])
            items += body if times == 1 or not body else (Repeat(times, body),)
            if len(items) > MOST_ITEMS:
                raise InputError(
                    f"the program has more than {MOST_ITEMS:,} calls that no loop repeats; "
                    "record fewer iterations, or pack it with --volumes mean"
                )
        made[rule] = tuple(items)
    return normalized(made[0])


def _call(number: int | None) -> tuple[Item, ...]:
    return () if number is None else (number,)


def leaves(items: Sequence[Item], first: int = 0) -> Iterator[tuple[int, int]]:
    """The calls in the order in which they are made: the place in the items, and the call."""
    for item in items:
        if isinstance(item, Repeat):
            for _ in range(item.times):
                yield from leaves(item.body, first)
        else:
            yield first, item
        first += places(item)


def places(item: Item) -> int:
    """How many places for calls an item has."""
    return sum(map(places, item.body)) if isinstance(item, Repeat) else 1


def _used_first(grammar: Grammar) -> list[int]:
    """The rules, each behind those that it uses."""
    order: list[int] = []
    known = {0}
    path = [(0, iter(grammar.rules[0]))]
    while path:
        rule, items = path[-1]
        for is_rule, number, _ in items:
            if is_rule and number not in known:
                known.add(number)
                path.append((number, iter(grammar.rules[number])))
                break
        else:
            order.append(rule)
            path.pop()
    return order


def normalized(items: Sequence[Item]) -> tuple[Item, ...]:
    """The same sequence with all its loops, each as far to the left as can be."""
    made: list[Item] = []
    for item in items:
        made += _normalized_loop(item) if isinstance(item, Repeat) else (item,)
    while True:
        before = made
        made = _moved_left(_with_repetitions(made))
        if made == before:
            return tuple(made)


def _normalized_loop(loop: Repeat) -> tuple[Item, ...]:
    body = normalized(loop.body)
    if len(body) == 1 and isinstance(body[0], Repeat):
        return (Repeat(loop.times * body[0].times, body[0].body),)
    if loop.times == 1:
        return body
    # The last item of a body and the first of the next are a loop of their own when they are equal.
    if len(body) > 1 and body[0] == body[-1]:
        inner = normalized((*body[1:-1], Repeat(2, (body[0],))))
        return normalized((body[0], Repeat(loop.times - 1, inner), *body[1:]))
    return (Repeat(loop.times, body),)


def _with_repetitions(items: list[Item]) -> list[Item]:
    """Equal parts that follow one another become loops, the shortest and the first of all first."""
    while True:
        found = _first_repetition(items)
        if found is None:
            return items
        start, length, times = found
        loop = Repeat(times, tuple(items[start : start + length]))
        items = [
            *items[:start],
            *_normalized_loop(loop),
            *items[start + length * times :],
        ]


def _first_repetition(items: list[Item]) -> tuple[int, int, int] | None:
    numbers: dict[Item, int] = {}
    ids = np.array([numbers.setdefault(item, len(numbers)) for item in items], dtype=np.int64)
    for length in range(1, min(len(items) // 2, _LONGEST_BODY) + 1):
        equal = ids[length:] == ids[:-length]
        if not equal.any():
            continue
        edges = np.flatnonzero(np.diff(np.concatenate(([0], equal.view(np.int8), [0]))))
        for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            if end - first >= length:
                return first, length, (end - first) // length + 1
    return None


def _moved_left(items: list[Item]) -> list[Item]:
    """Loops begin as early as they can, and take in iterations that stand beside them."""
    made = list(items)
    at = 0
    while at < len(made):
        item = made[at]
        if not isinstance(item, Repeat):
            at += 1
            continue
        body, times = list(item.body), item.times
        while at > 0 and made[at - 1] == body[-1] and len(body) > 1:
            body.insert(0, body.pop())
            made[at - 1 : at + 1] = [Repeat(times, tuple(body)), body[0]]
            at -= 1
        size = len(body)
        while at >= size and made[at - size : at] == body:
            del made[at - size : at]
            at -= size
            times += 1
        while made[at + 1 : at + 1 + size] == body:
            del made[at + 1 : at + 1 + size]
            times += 1
        before = made[at - 1] if at else None
        if isinstance(before, Repeat) and before.body == tuple(body):
            times += before.times
            del made[at]
            at -= 1
        made[at] = Repeat(times, tuple(body))
        at += 1
    return made
