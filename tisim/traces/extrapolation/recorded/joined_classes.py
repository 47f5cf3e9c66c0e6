"""Classes of ranks that make the same calls with other numbers are one class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tisim.traces.extrapolation.recorded.loops import Item, Repeat
from tisim.traces.extrapolation.recorded.program import ClassProgram
from tisim.traces.extrapolation.shapes import ClassCall, Shape

#: What tells classes apart: the trace, and the program without its numbers.
_Outline = tuple[int, tuple[Shape | int, ...]]


def joined(classes: Sequence[ClassProgram]) -> list[ClassProgram]:
    """One class for all those of a trace that make the same calls in the same loops.

    Their grammars differed, since numbers that are equal on some ranks are not on others.
    """
    alike: dict[_Outline, list[ClassProgram]] = {}
    for made in classes:
        alike.setdefault((made.size, tuple(_outline(made, made.items))), []).append(made)
    return [_one(group) if len(group) > 1 else group[0] for group in alike.values()]


def _outline(made: ClassProgram, items: Sequence[Item]) -> Iterator[Shape | int]:
    """The shapes of calls; before a loop how often, and behind it 0."""
    for item in items:
        if isinstance(item, Repeat):
            yield item.times
            yield from _outline(made, item.body)
            yield 0
        else:
            yield made.calls[item].shape


def _one(group: Sequence[ClassProgram]) -> ClassProgram:
    ranks = np.concatenate([made.ranks for made in group])
    order = np.argsort(ranks)
    known: dict[tuple[int, ...], int] = {}
    items = _beside([made.items for made in group], known)
    calls = [
        _call([made.calls[one] for made, one in zip(group, numbers, strict=True)]).of_ranks(order)
        for numbers in known
    ]
    volumes = [made.volumes for made in group if made.volumes is not None]
    together = np.concatenate(volumes, axis=1)[:, order] if volumes else None
    return ClassProgram(group[0].size, ranks[order], calls, items, together)


def _beside(
    programs: Sequence[Sequence[Item]], known: dict[tuple[int, ...], int]
) -> tuple[Item, ...]:
    """The items of programs of one outline; `known` numbers their calls."""
    made: list[Item] = []
    for items in zip(*programs, strict=True):
        loops = [item for item in items if isinstance(item, Repeat)]
        if loops:
            made.append(Repeat(loops[0].times, _beside([loop.body for loop in loops], known)))
        else:
            calls = tuple(item for item in items if isinstance(item, int))
            made.append(known.setdefault(calls, len(known)))
    return tuple(made)


def _call(calls: Sequence[ClassCall]) -> ClassCall:
    """A call of several classes."""
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
        _call(of_classes) for of_classes in zip(*(call.starters for call in calls), strict=True)
    )
    return ClassCall(shape, numbers, varying, starters)
