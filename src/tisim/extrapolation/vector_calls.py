"""Vector collectives: calls whose lines have a number for each rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tisim.errors import InputError
from tisim.extrapolation.shapes import Numbers, Shape
from tisim.formats.tit import TitTrace
from tisim.formats.tit.shapes import NUMBER

_NUMBER = bytes([NUMBER])
#: Of each action, the first numbers of its lines: whether there is one for each rank.
_LAYOUTS: dict[str, tuple[bool, ...]] = {
    "alltoallv": (False, True, False, True),
    "allgatherv": (False, True),
    "gatherv": (False, True),
    "scatterv": (True,),
    "reducescatter": (True,),
}


@dataclass(frozen=True)
class Approximation:
    """Actions whose numbers are data, so that their means are taken.

    Parameters
    ----------
    actions
        The actions.
    """

    actions: frozenset[str]

    def means(self, trace: TitTrace, shape: Shape) -> list[int] | None:
        """The mean of each number of a call, over all ranks and times; None: it is exact."""
        if shape.action not in self.actions:
            return None
        action = shape.action.encode()
        sums = np.zeros(len(shape.marks))
        count = 0
        for rank in range(trace.ranks):
            for line in trace.lines(rank):
                words = line.split()
                if len(words) == len(sums) + 2 and words[1].lower() == action:
                    sums += [float(word.rpartition(b"=")[2]) for word in words[2:]]
                    count += 1
        return [round(number) for number in (sums / count).tolist()] if count else None


def collapsed(shape: Shape, values: list[Numbers], ranks: int) -> tuple[Shape, list[Numbers]]:
    """A call with one number where its line has one for each rank.

    Parameters
    ----------
    shape, values
        The call, and of each hole the number of each rank that makes it.
    ranks
        How many ranks the trace has.

    Raises
    ------
    InputError
        When the numbers for the ranks differ, and are no approximate ones.
    """
    layout = _LAYOUTS.get(shape.action, ())
    needed = sum(ranks if of_ranks else 1 for of_ranks in layout)
    # In a smaller communicator there are fewer numbers: nobody knows which are of ranks.
    if not layout or len(values) < needed or set(shape.marks) != {NUMBER}:
        return shape, values
    kept: list[Numbers] = []
    texts = shape.text.split(_NUMBER)
    text = texts[0]
    vectors = []
    at, rank_holes = 0, 0
    for of_ranks in (*layout, *[False] * (len(values) - needed)):
        if of_ranks:
            vectors.append(len(kept))
        elif shape.is_rank(at):
            rank_holes |= 1 << len(kept)
        width = ranks if of_ranks else 1
        kept.append(_one(shape, np.stack(values[at : at + width])))
        at += width
        text += _NUMBER + texts[at]
    marks = (NUMBER,) * len(kept)
    return Shape(text, marks, rank_holes, tuple(vectors), shape.is_data), kept


def _one(shape: Shape, numbers: Numbers) -> Numbers:
    if (numbers != numbers[0]).any():
        if not shape.is_data:
            raise InputError(
                f"the numbers of {shape.action} for different ranks differ; where they are data, "
                f"--approximate {shape.action} takes their means"
            )
        return np.full(numbers.shape[1], round(float(numbers.mean())), dtype=np.int64)
    return np.asarray(numbers[0], dtype=np.int64)


def spelled_out(
    shape: Shape, numbers: list[Numbers], ranks: int
) -> tuple[bytes, int, list[Numbers]]:
    """The text of a call, which of its holes take ranks, and its numbers, one for each rank."""
    if not shape.vectors:
        return shape.text, shape.rank_holes, numbers
    texts = shape.text.split(_NUMBER)
    made: list[Numbers] = []
    text, rank_holes = texts[0], 0
    for hole, of_hole in enumerate(numbers):
        times = ranks if hole in shape.vectors else 1
        if shape.is_rank(hole) and len(made) < 64:
            rank_holes |= 1 << len(made)
        text += b" ".join([_NUMBER] * times) + texts[hole + 1]
        made += [of_hole] * times
    return text, rank_holes, made
