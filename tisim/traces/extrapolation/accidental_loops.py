"""Removal of accidental loops, whose repeated calls have different numbers on other ranks.

SP solves along a line of cells, and sends a message after each of them. Its size differs where a
cell is at the edge of the problem. So some ranks send three equal messages in a row, others one
and then two equal ones. Neither is a loop of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from tisim.traces.extrapolation.recorded import ClassProgram, Item, Repeat, places
from tisim.traces.extrapolation.shapes import ClassCall, Shape

#: Key that distinguishes classes: the trace, and the program without its numbers.
_Outline = tuple[int, tuple[Shape | int, ...]]


def merge_classes(classes: Sequence[ClassProgram]) -> list[ClassProgram]:
    """Merge the classes of each trace that make the same calls in the same loops.

    Their grammars differ because numbers that are equal on some ranks differ on others.
    """
    alike: dict[_Outline, list[ClassProgram]] = {}
    for made in classes:
        alike.setdefault((made.size, tuple(_outline(made, made.items))), []).append(made)
    return [_merge_group(group) if len(group) > 1 else group[0] for group in alike.values()]


def _outline(made: ClassProgram, items: Sequence[Item]) -> Iterator[Shape | int]:
    """Yield the shapes of calls; a loop's count precedes its body, and a 0 follows it."""
    for item in items:
        if isinstance(item, Repeat):
            yield item.times
            yield from _outline(made, item.body)
            yield 0
        else:
            yield made.calls[item].shape


def _merge_group(group: Sequence[ClassProgram]) -> ClassProgram:
    ranks = np.concatenate([made.ranks for made in group])
    order = np.argsort(ranks)
    known: dict[tuple[int, ...], int] = {}
    items = _merge_items([made.items for made in group], known)
    calls = [
        _merge_calls([made.calls[n] for made, n in zip(group, numbers, strict=True)]).of_ranks(
            order
        )
        for numbers in known
    ]
    volumes = [made.volumes for made in group if made.volumes is not None]
    together = np.concatenate(volumes, axis=1)[:, order] if volumes else None
    return ClassProgram(group[0].size, ranks[order], calls, items, together)


def _merge_items(
    programs: Sequence[Sequence[Item]], known: dict[tuple[int, ...], int]
) -> tuple[Item, ...]:
    """Merge the items of programs with one outline; `known` numbers their calls."""
    made: list[Item] = []
    for items in zip(*programs, strict=True):
        loops = [item for item in items if isinstance(item, Repeat)]
        if loops:
            made.append(Repeat(loops[0].times, _merge_items([loop.body for loop in loops], known)))
        else:
            calls = tuple(item for item in items if isinstance(item, int))
            made.append(known.setdefault(calls, len(known)))
    return tuple(made)


def _merge_calls(calls: Sequence[ClassCall]) -> ClassCall:
    """Merge the same call of several classes."""
    shape = calls[0].shape
    numbers = tuple(
        np.concatenate(of_classes)
        for of_classes in zip(*(call.numbers for call in calls), strict=True)
    )
    varying = frozenset(
        hole
        for hole, values in enumerate(numbers)
        if not shape.is_rank(hole) and (values != values[0]).any()
    )
    starters = tuple(
        _merge_calls(of_classes)
        for of_classes in zip(*(call.starters for call in calls), strict=True)
    )
    return ClassCall(shape, numbers, varying, starters)


# Maximum length of a run of equal calls that may not be a loop.
_SHORT = 4
# Limits on the calls of an expanded loop, and on the calls that it repeats. Aligning long sequences
# takes time quadratic in their lengths, for each candidate grid.
_MOST_CALLS = 20
_LONGEST_ROOT = 16
# Sequences are hashed modulo a prime, so that loops need not be expanded.
_PRIME, _BASE = 2**61 - 1, 1_000_003
#: True for a loop to expand.
_Choice = Callable[[Repeat], bool]
#: The calls that loops repeat, rotated to the smallest sequence; the order of shapes is arbitrary.
_Root = tuple[int, ...]
#: A hash of a sequence, and the power of the base by which a preceding hash is multiplied.
_Order = tuple[int, int]


def without_accidental_loops(classes: Sequence[ClassProgram]) -> list[ClassProgram]:
    """Return the same programs, in which parts that only some ranks repeat are not loops.

    Calls that only some ranks make several times in a row are expanded if they are few: three sums
    in a row are a loop, unless messages separate them on other ranks, as at the edges of a grid.
    Loops of several calls are expanded if other ranks make all calls of the program in the same
    order, apart from their numbers, in other loops.
    """
    short = _short_calls(classes)
    return _without_uneven_loops([_without_short_loops(made, short) for made in classes])


def expand(
    items: Sequence[Item], chosen: _Choice, first: int = 0
) -> tuple[tuple[Item, ...], list[int]]:
    """Return the sequence without the loops that `chosen` selects, and the former place of each of
    its places.
    """
    made: list[Item] = []
    were: list[int] = []
    for item in items:
        if isinstance(item, int):
            made.append(item)
            were.append(first)
        elif chosen(item):
            body, inside = expand(item.body, lambda _: True, first)
            made += body * item.times
            were += inside * item.times
        else:
            body, inside = expand(item.body, chosen, first)
            made.append(Repeat(item.times, body))
            were += inside
        first += places(item)
    return tuple(made), were


def _expand_class(made: ClassProgram, chosen: _Choice) -> ClassProgram:
    items, were = expand(made.items, chosen)
    volumes = None if made.volumes is None else made.volumes[were]
    return replace(made, items=items, volumes=volumes)


def _without_short_loops(made: ClassProgram, short: Container[Shape]) -> ClassProgram:
    calls = {number for number, call in enumerate(made.calls) if call.shape in short}
    return _expand_class(made, lambda loop: len(loop.body) == 1 and loop.body[0] in calls)


def _short_calls(classes: Sequence[ClassProgram]) -> set[Shape]:
    """Return the calls that some ranks of a trace repeat a few times, and others do not."""
    seen: dict[Shape, dict[int, set[tuple[int, ...]]]] = {}
    loops: list[dict[Shape, list[int]]] = []
    for made in classes:
        of_class: dict[Shape, list[int]] = {}
        for call, times in _loops_of_one_call(made.items):
            of_class.setdefault(made.calls[call].shape, []).append(times)
        loops.append(of_class)
    for shape in {shape for of_class in loops for shape in of_class}:
        for made, of_class in zip(classes, loops, strict=True):
            known = seen.setdefault(shape, {}).setdefault(made.size, set())
            known.add(tuple(of_class.get(shape, ())))
    return {
        shape
        for shape, sizes in seen.items()
        if any(len(known) > 1 for known in sizes.values())
        and all(times <= _SHORT for known in sizes.values() for times in chain(*known))
    }


def _loops_of_one_call(items: Sequence[Item]) -> Iterator[tuple[int, int]]:
    """Yield the loops that repeat one call: the call and its number of repetitions."""
    for item in items:
        if isinstance(item, int):
            continue
        if len(item.body) == 1 and isinstance(item.body[0], int):
            yield item.body[0], item.times
        else:
            yield from _loops_of_one_call(item.body)


def _without_uneven_loops(classes: Sequence[ClassProgram]) -> list[ClassProgram]:
    """Expand the loops that are missing on ranks with the same calls."""
    shapes: dict[Shape, int] = {}
    numbers = [
        [shapes.setdefault(call.shape, len(shapes)) for call in made.calls] for made in classes
    ]
    loops = [_Loops(own) for own in numbers]
    found = [of.of(made.items) for of, made in zip(loops, classes, strict=True)]
    orders = [of.order(made.items) for of, made in zip(loops, classes, strict=True)]
    uneven: set[_Root] = set()
    for root in {root for of_class in found for root in of_class}:
        seen: dict[tuple[int, _Order], list[tuple[int, int]] | None] = {}
        for made, order, of_class in zip(classes, orders, found, strict=True):
            own = of_class.get(root)
            if seen.setdefault((made.size, order), own) != own:
                uneven.add(root)
    if not uneven:
        return list(classes)
    return merge_classes(
        [_without(made, of, uneven) for of, made in zip(loops, classes, strict=True)]
    )


def _without(made: ClassProgram, loops: _Loops, roots: Container[_Root | None]) -> ClassProgram:
    return _expand_class(made, lambda loop: loops.root(loop) in roots)


class _Loops:
    """The loops of a class of ranks, by the calls that they repeat."""

    def __init__(self, shapes: Sequence[int]) -> None:
        self._shapes = shapes

    def root(self, loop: Repeat) -> _Root | None:
        """Return the shapes of the repeated calls; None for long loops."""
        if _count(loop) > _MOST_CALLS:
            return None
        calls, _ = expand((loop,), lambda _: True)
        shapes = [self._shapes[call] for call in calls if isinstance(call, int)]
        for length in range(1, min(len(shapes) // 2, _LONGEST_ROOT) + 1):
            if len(shapes) % length == 0 and shapes[length:] == shapes[:-length]:
                return min(tuple(shapes[at:length] + shapes[:at]) for at in range(length))
        return None

    def of(self, items: Sequence[Item]) -> dict[_Root, list[tuple[int, int]]]:
        """Return the iterations and calls per iteration of loops, by root of several calls."""
        found: dict[_Root, list[tuple[int, int]]] = {}
        for item in items:
            if isinstance(item, int):
                continue
            root = self.root(item)
            if root is not None and len(root) > 1:
                found.setdefault(root, []).append((item.times, _count(item) // item.times))
            # A body without repetition of its own may contain loops of other calls.
            if root is None or len(root) == _count(item) // item.times:
                for inner, times in self.of(item.body).items():
                    found.setdefault(inner, []).extend(times)
        return found

    def order(self, items: Sequence[Item]) -> _Order:
        """Return the key of the sequence of calls without their numbers."""
        made: _Order = (0, 1)
        for item in items:
            if isinstance(item, int):
                made = _concatenate(made, (self._shapes[item] + 1, _BASE))
            else:
                made = _concatenate(made, _repeated(self.order(item.body), item.times))
        return made


def _concatenate(one: _Order, other: _Order) -> _Order:
    return (one[0] * other[1] + other[0]) % _PRIME, one[1] * other[1] % _PRIME


def _repeated(one: _Order, times: int) -> _Order:
    made: _Order = (0, 1)
    while times:
        made = _concatenate(made, one) if times % 2 else made
        one = _concatenate(one, one)
        times //= 2
    return made


def _count(item: Item) -> int:
    return item.times * sum(map(_count, item.body)) if isinstance(item, Repeat) else 1
