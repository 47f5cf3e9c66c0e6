"""Vector collectives: calls whose lines have a number for each rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tisim.errors import InputError
from tisim.traces.extrapolation.shapes import Numbers, Shape
from tisim.traces.tit.shapes import NUMBER

_NUMBER = bytes([NUMBER])
#: Of each action, the first numbers of its lines: whether there is one for each rank.
LAYOUTS: dict[str, tuple[bool, ...]] = {
    "alltoallv": (False, True, False, True),
    "allgatherv": (False, True),
    "gatherv": (False, True),
    "scatterv": (True,),
    "reducescatter": (True,),
}


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
    layout = LAYOUTS.get(shape.action, ())
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
                f"--approximate {shape.action} draws them from a distribution, and "
                f"{shape.action}:means takes their means"
            )
        return np.full(numbers.shape[1], round(float(numbers.mean())), dtype=np.int64)
    return np.asarray(numbers[0], dtype=np.int64)


@dataclass(frozen=True)
class DrawnNumbers:
    """Numbers for ranks that are drawn from a distribution, so that all ranks agree on them.

    Attributes
    ----------
    action
        The call.
    numbers
        For ``alltoallv``, what each rank sends to each other one; else one for each rank.
    """

    action: str
    numbers: Numbers

    @classmethod
    def of(cls, action: str, quantiles: NDArray[np.float64], ranks: int, seed: int) -> DrawnNumbers:
        """Draw them from the quantiles of a distribution."""
        shape = (ranks, ranks) if action == "alltoallv" else (ranks,)
        levels = np.linspace(0.0, 1.0, len(quantiles))
        drawn = np.interp(np.random.default_rng(seed).random(shape), levels, quantiles)
        return cls(action, np.maximum(np.rint(drawn), 0.0).astype(np.int64))

    @property
    def own_hole(self) -> int | None:
        """Which hole has the number of the rank that makes the call."""
        return {"allgatherv": 0, "gatherv": 0, "scatterv": 1}.get(self.action)

    def own(self, members: Numbers) -> Numbers:
        """The numbers of these ranks."""
        return np.asarray(self.numbers[members], dtype=np.int64)

    def columns(self, which: int, members: Numbers) -> list[Numbers]:
        """For each rank a number, of each of the members where theirs differ.

        Parameters
        ----------
        which
            Of ``alltoallv``, 0: what is sent, 1: what is received.
        members
            The ranks that make the call.
        """
        if self.numbers.ndim == 1:
            return list(self.numbers[:, None])
        return list(self.numbers[members].T if which == 0 else self.numbers[:, members])


def spelled_out(
    shape: Shape,
    numbers: list[Numbers],
    ranks: int,
    members: Numbers,
    drawn: DrawnNumbers | None = None,
) -> tuple[bytes, int, list[Numbers]]:
    """The text of a call, which of its holes take ranks, and its numbers, one for each rank.

    Parameters
    ----------
    shape, numbers
        The call, and of each hole one number, or one for each of the ranks that make it.
    ranks
        How many ranks there are.
    members
        The ranks that make it.
    drawn
        What stands instead of the numbers for ranks; None: the same number for all.
    """
    if not shape.vectors:
        return shape.text, shape.rank_holes, numbers
    texts = shape.text.split(_NUMBER)
    made: list[Numbers] = []
    text, rank_holes = texts[0], 0
    for hole, of_hole in enumerate(numbers):
        columns = [of_hole]
        if hole in shape.vectors:
            which = shape.vectors.index(hole)
            columns = [of_hole] * ranks if drawn is None else drawn.columns(which, members)
        elif drawn is not None and hole == drawn.own_hole:
            columns = [drawn.own(members)]
        if shape.is_rank(hole) and len(made) < 64:
            rank_holes |= 1 << len(made)
        text += b" ".join([_NUMBER] * len(columns)) + texts[hole + 1]
        made += columns
    return text, rank_holes, made
