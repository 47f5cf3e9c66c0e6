"""What a recorded trace says of its classes of ranks: calls with numbers, and loops of calls."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tisim.errors import InputError
from tisim.traces import pack
from tisim.traces.extrapolation.data.approximation import Approximation
from tisim.traces.extrapolation.data.vector_calls import collapsed
from tisim.traces.extrapolation.recorded.loops import Item, leaves, loops_of, places
from tisim.traces.extrapolation.recorded.requests import with_starters
from tisim.traces.extrapolation.shapes import ClassCall, Numbers, Shape
from tisim.traces.extrapolation.volume_codes import value_of
from tisim.traces.packed import is_packed
from tisim.traces.tit import TitTrace
from tisim.traces.tit.numbers import DamagedError
from tisim.traces.tit.shapes import NO_RANK, STEP
from tisim.traces.tit.tables import (
    BY_RANK,
    CONSTANT,
    EXCLUSIVE,
    RELATIVE,
    RankClass,
    TraceTables,
)

# The shape of computations, which every file has.
_COMPUTE = 0
# Volumes that a program declares are few, such as those of shares of a box at its corners, edges
# and sides; those that are measured are others on each rank.
_MOST_DECLARED = 32
# A comment says how a trace was made, and nothing of the program.
_COMMENT = bytes([NO_RANK]) + b"#"


@dataclass(frozen=True)
class ClassProgram:
    """What the ranks of a class do.

    Attributes
    ----------
    size
        Which of the traces it is of.
    ranks
        The ranks of the class.
    calls
        The calls.
    items
        The program, of the numbers of calls.
    volumes
        Where volumes are fitted: for each place in the items and each rank, the mean of what is
        computed before the call.
    """

    size: int
    ranks: Numbers
    calls: list[ClassCall]
    items: tuple[Item, ...]
    volumes: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class RecordedTrace:
    """One of the traces that are extrapolated."""

    name: str
    trace: TitTrace
    size: int = 0

    @property
    def ranks(self) -> int:
        """How many ranks it has."""
        return self.trace.ranks

    @property
    def legacy(self) -> bool:
        """Whether its lines are of the legacy dialect."""
        return self.trace.tables.legacy

    @property
    def has_measured_volumes(self) -> bool:
        """Whether volumes vary from time to time, or are others on nearly every rank."""
        classes = self.trace.tables.classes
        return any(made.has_volumes for made in classes) or self._most_by_rank > _MOST_DECLARED

    @property
    def has_volumes_by_rank(self) -> bool:
        """Whether volumes differ between ranks that do the same."""
        return self._most_by_rank > 0

    @cached_property
    def _most_by_rank(self) -> int:
        """How many volumes ranks have at most that make the same calls in one place."""
        tables = self.trace.tables
        most = 0
        for made in tables.classes:
            vectors = iter(made.vectors)
            for call in (tables.calls[number] for number in made.calls):
                by_rank = [next(vectors) for mode, _ in call.arguments if mode == BY_RANK]
                if call.shape == _COMPUTE:
                    most = max([most, *(len({*vector}) for vector in by_rank)])
        return most

    def classes(self, fit_volumes: bool, approximation: Approximation) -> list[ClassProgram]:
        """The programs of its classes.

        Parameters
        ----------
        fit_volumes
            Computations are no calls, but means before the calls.
        approximation
            The actions whose numbers are means.

        Raises
        ------
        InputError
            When a class has no structure.
        """
        tables = self.trace.tables
        try:
            return [
                _read_class(
                    self, number, np.array(ranks, dtype=np.int64), fit_volumes, approximation
                )
                for number, ranks in enumerate(tables.members)
                if ranks
            ]
        except InputError as error:
            raise InputError(error.message, file=Path(self.name)) from None


def read_trace(path: str | os.PathLike[str]) -> RecordedTrace:
    """Read a trace.

    Parameters
    ----------
    path
        A packed trace, or any other one, which is packed first.

    Raises
    ------
    InputError
        When it is no trace.
    """
    name = Path(path)
    if is_packed(name):
        try:
            return RecordedTrace(str(name), TitTrace(name))
        except DamagedError as error:
            raise InputError(
                f"is damaged: {error.message}; get it again, or pack the trace again", file=name
            ) from None
    with tempfile.TemporaryDirectory(prefix="tisim-extrapolate-") as directory:
        packed = Path(directory) / "packed.tit"
        pack(name, packed)
        return RecordedTrace(str(name), TitTrace(packed))


def _read_class(
    trace: RecordedTrace,
    number: int,
    ranks: Numbers,
    fit_volumes: bool,
    approximation: Approximation,
) -> ClassProgram:
    tables = trace.trace.tables
    made = tables.classes[number]
    if made.has_volumes and not fit_volumes:
        raise InputError("its volumes vary from call to call, so they can only be fitted")
    calls: list[ClassCall] = []
    known: dict[tuple[object, ...], int] = {}
    numbers_of: list[int | None] = []
    vectors = iter(made.vectors)
    for call in (tables.calls[number] for number in made.calls):
        by_rank = [
            np.array(next(vectors), dtype=np.int64) if mode == BY_RANK else None
            for mode, _ in call.arguments
        ]
        text = tables.shape_texts[call.shape]
        shape = tables.shapes[call.shape]
        marks = tuple(shape.holes)
        is_comment = text[:2] == _COMMENT
        if is_comment or (fit_volumes and (call.shape == _COMPUTE or shape.is_silent)):
            numbers_of.append(None)
            continue
        holes = Shape(text, marks, shape.rank_holes)
        means = approximation.means(trace.trace, holes)
        holes = replace(holes, is_data=means is not None)
        values = [
            np.full(len(ranks), means[hole], dtype=np.int64)
            if means is not None
            else known
            if known is not None
            else _by_rule(holes.action, *call.arguments[hole], ranks)
            for hole, known in enumerate(by_rank)
        ]
        if STEP in marks:  # the order of lines of different ranks in one file
            holes, values = replace(holes, text=text[:-1], marks=marks[:-1]), values[:-1]
        holes, values = collapsed(holes, values, trace.ranks)
        text = holes.text
        key = (text, *(value.tobytes() for value in values))
        if key not in known:
            known[key] = len(calls)
            varying = frozenset(
                hole
                for hole, of_ranks in enumerate(values)
                if not holes.is_rank(hole) and (of_ranks != of_ranks[0]).any()
            )
            calls.append(ClassCall(holes, tuple(values), varying))
        numbers_of.append(known[key])
    items, calls = with_starters(loops_of(made.grammar, numbers_of), calls)
    volumes = _volumes(trace.trace, made, ranks, numbers_of, items) if fit_volumes else None
    return ClassProgram(trace.size, ranks, calls, items, volumes)


def _by_rule(action: str, mode: int, value: int, ranks: Numbers) -> Numbers:
    if mode == CONSTANT:
        return np.full(len(ranks), value, dtype=np.int64)
    if mode in (RELATIVE, EXCLUSIVE):
        return ranks + value if mode == RELATIVE else ranks ^ value
    raise InputError(
        f"sizes or other arguments of {action} vary from call to call; where they are data, "
        f"--approximate {action} takes their means"
    )


def _volumes(
    trace: TitTrace,
    made: RankClass,
    ranks: Numbers,
    numbers_of: list[int | None],
    items: tuple[Item, ...],
) -> NDArray[np.float64]:
    """Means of what each rank computes before each place; what follows the last call is its."""
    count = sum(map(places, items))
    sums = np.zeros((count, len(ranks)))
    times = np.zeros(count)
    for position, rank in enumerate(ranks.tolist()):
        at = leaves(items)
        place, waiting = 0, 0.0
        for terminal, computation in trace.calls(rank):
            if computation is not None:
                waiting += float(computation.split()[-1])
            code = _volume_of(trace.tables, made, terminal, position)
            waiting += 0.0 if code is None else float(value_of(code))
            if numbers_of[terminal] is None:
                continue
            place, _ = next(at)
            sums[place, position] += waiting
            times[place] += position == 0
            waiting = 0.0
        if count:
            sums[place, position] += waiting
    means: NDArray[np.float64] = sums / np.maximum(times, 1)[:, None]
    return means


def _volume_of(tables: TraceTables, made: RankClass, terminal: int, position: int) -> int | None:
    """The code of the volume of a computation in the grammar."""
    call = tables.calls[made.calls[terminal]]
    if call.shape != _COMPUTE:
        return None
    mode, value = call.arguments[0]
    if mode == CONSTANT:
        return value
    before = sum(
        mode == BY_RANK
        for number in made.calls[:terminal]
        for mode, _ in tables.calls[number].arguments
    )
    return made.vectors[before][position]
