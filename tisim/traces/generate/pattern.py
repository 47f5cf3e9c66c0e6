"""Base of the patterns: iterations of lines, varying computations, and process grids."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from tisim.errors import InputError

if TYPE_CHECKING:
    import numpy as np

#: Lines without their rank; a number is a computation, as a fraction of an iteration's flops.
Program = list[str | float]
# Maximum number of characters of a rank's trace generated at once.
_PIECE = 1 << 20
_RANKS_BETWEEN_REPORTS = 256
# A sum of doubles: one flop per this many bytes.
_BYTES_PER_FLOP = 8


@dataclass(frozen=True, kw_only=True)
class Pattern(ABC):
    """A program whose ranks repeat the same iteration.

    Parameters
    ----------
    ranks
        Number of ranks.
    iterations
        Number of iterations.
    compute
        Flops of one rank in one iteration.
    imbalance
        From 0 to 1. The flops of each rank are multiplied by its own factor, uniform between
        ``1 - imbalance`` and ``1 + imbalance``.
    noise
        As `imbalance`, but for every single computation.
    allreduce
        Bytes of an allreduce of all ranks that follows iterations; 0 for none.
    allreduce_every
        Number of iterations between allreduces.
    seed
        Seed of the random numbers: the same seed gives the same trace.
    requests
        Whether non-blocking calls and the waits for them have numbers (``request=N``).

    Raises
    ------
    InputError
        When a number is out of range.
    """

    #: Minimum value of each numeric parameter.
    _least: ClassVar[Mapping[str, int]] = {
        **dict.fromkeys(("ranks", "allreduce_every"), 1),
        **dict.fromkeys(("iterations", "compute", "allreduce", "seed"), 0),
    }

    ranks: int
    iterations: int = 10
    compute: float = 1e6
    imbalance: float = 0.0
    noise: float = 0.0
    allreduce: int = 0
    allreduce_every: int = 1
    seed: int = 1
    requests: bool = False

    def __post_init__(self) -> None:
        for name, least in self._least.items():
            self._check(name, getattr(self, name) >= least, f"at least {least}")
        for name in ("imbalance", "noise"):
            self._check(name, 0 <= getattr(self, name) <= 1, "between 0 and 1")
        for name in ("ranks", "iterations"):
            self._check(name, getattr(self, name) <= 1 << 30, "at most 2^30")

    def _check(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise InputError(f"{name} must be {what}, not {getattr(self, name)}")

    @abstractmethod
    def iteration(self, rank: int) -> Program:
        """Return the actions of a rank in one iteration."""

    def write(
        self, target: str | os.PathLike[str], progress: Callable[[float], None] | None = None
    ) -> None:
        """Write the trace.

        Parameters
        ----------
        target
            One packed file if the name ends in ``.tit``; otherwise a directory, with one file per
            rank, which must not exist or must be empty.
        progress
            Called regularly with the written fraction, from 0 to 1.

        Raises
        ------
        InputError
            When `target` cannot be written.
        """
        from tisim.traces.writer import write_trace

        with write_trace(target, self.ranks) as trace:
            for rank in range(self.ranks):
                if self.noise:
                    trace.write_rank(rank, self.pieces(rank, progress))
                    continue
                trace.write_repeated(rank, self.repeated_pieces(rank))
                done = rank + 1
                if progress is not None and (
                    done % _RANKS_BETWEEN_REPORTS == 0 or done == self.ranks
                ):
                    progress(done / self.ranks)

    def repeated_pieces(self, rank: int) -> Iterator[tuple[str, int]]:
        """Yield the lines of a rank without noise: pieces, each with its number of repetitions."""
        volume = self._volume(rank)
        yield f"{rank} init\n", 1
        for program, times in self._repeated(rank, self._body(rank)):
            flops = tuple(round(x * volume) for x in program if isinstance(x, float))
            yield _template(rank, program) % flops, times
        yield f"{rank} finalize\n", 1

    def pieces(self, rank: int, progress: Callable[[float], None] | None = None) -> Iterator[str]:
        """Yield the lines of a rank, many at once."""
        from tisim.traces.writer import expand_pieces

        if not self.noise:
            yield from expand_pieces(self.repeated_pieces(rank))
            return
        body = self._body(rank)
        random = self.random(1, rank)
        yield f"{rank} init\n"
        done, total = 0, 1
        if progress is not None:
            parts = self._repeated(rank, body)
            total = max(sum(len(program) * times for program, times in parts), 1)
        for program, times in self._repeated(rank, body):
            lines = _template(rank, program)
            flops = [x * self._volume(rank) for x in program if isinstance(x, float)]
            at_once = max(_PIECE // max(len(lines), 1), 1)
            for first in range(0, times, at_once):
                count = min(at_once, times - first)
                yield lines * count % self._noisy(flops, count, random)
                done += count * len(program)
                if progress is not None:
                    progress((rank + done / total) / self.ranks)
        yield f"{rank} finalize\n"

    def _body(self, rank: int) -> Program:
        return numbered(self.iteration(rank)) if self.requests else self.iteration(rank)

    @property
    def _sums(self) -> Program:
        """The allreduce that follows iterations."""
        return [f"allreduce {self.allreduce} {max(self.allreduce // _BYTES_PER_FLOP, 1)}"]

    def _repeated(self, rank: int, body: Program) -> Iterator[tuple[Program, int]]:
        """Yield consecutive programs, each with its number of repetitions."""
        if not self.allreduce:
            yield body, self.iterations
            return
        sums = self._sums
        rounds, rest = divmod(self.iterations, self.allreduce_every)
        if self.allreduce_every * len(body) <= _PIECE // 32:
            yield body * self.allreduce_every + sums, rounds
        else:
            for _ in range(rounds):
                yield body, self.allreduce_every
                yield sums, 1
        yield body, rest

    def _noisy(
        self, flops: list[float], times: int, random: np.random.Generator
    ) -> tuple[int, ...]:
        """Return the volumes of repeated computations, each with its own random factor."""
        drawn = random.random((times, len(flops)))
        volumes = (1 + self.noise * (2 * drawn - 1)) * flops
        return tuple(volumes.round().ravel())

    @cached_property
    def _factors(self) -> list[float]:
        """Factor of the flops of each rank."""
        drawn = self.random(0).random(self.ranks)
        factors: list[float] = (1 + self.imbalance * (2 * drawn - 1)).tolist()
        return factors

    def _volume(self, rank: int) -> float:
        """Return the flops of a rank in one iteration, without noise."""
        return self.compute * self._factors[rank] if self.imbalance else self.compute

    def random(self, *stream: int) -> np.random.Generator:
        """Return one of the seed's independent sequences of random numbers."""
        import numpy as np

        return np.random.default_rng([self.seed, *stream])


def numbered(program: Program) -> Program:
    """Return the program with a number for each request, the lowest that is free."""
    made: Program = []
    pending: dict[int, tuple[str, ...]] = {}
    for line in program:
        words = line.split() if isinstance(line, str) else [""]
        if words[0] in ("isend", "irecv"):
            number = next(n for n in range(len(pending) + 1) if n not in pending)
            # A wait for a receive names it by source and tag.
            pending[number] = (words[1], words[2]) if words[0] == "irecv" else ()
            made.append(f"{line} request={number}")
        elif words[0] == "wait":
            number = next(n for n, key in pending.items() if key == (words[1], words[3]))
            del pending[number]
            made.append(f"wait request={number}")
        elif words[0] == "waitall":
            made.append(f"waitall requests={','.join(map(str, sorted(pending)))}")
            pending.clear()
        else:
            made.append(line)
    return made


def _template(rank: int, program: Program) -> str:
    """Return the lines of a program, with placeholders for its volumes."""
    return "".join(
        f"{rank} compute %d\n" if isinstance(line, float) else f"{rank} {line}\n"
        for line in program
    )


def process_grid(ranks: int, dimensions: int) -> tuple[int, ...]:
    """Arrange ranks in a grid whose sides differ as little as possible, longest first.

    Parameters
    ----------
    ranks
        Number of ranks.
    dimensions
        1, 2 or 3.

    Returns
    -------
    tuple of int
        The sides; their product is `ranks`.

    Examples
    --------
    >>> process_grid(24, 3)
    (4, 3, 2)
    """
    if dimensions == 1:
        return (ranks,)
    # The largest divisor not above the root leaves the most even remainder.
    side = next(
        s
        for s in range(round(ranks ** (1 / dimensions)) + 1, 0, -1)
        if ranks % s == 0 and s**dimensions <= ranks
    )
    return *process_grid(ranks // side, dimensions - 1), side


def check_grid(sides: Sequence[int], ranks: int, dimensions: int) -> None:
    """Check that a grid has `ranks` ranks.

    Raises
    ------
    InputError
        When it does not.
    """
    shown = "x".join(map(str, sides))
    if len(sides) != dimensions or min(sides) < 1:
        example = "x".join(map(str, process_grid(ranks, dimensions)))
        raise InputError(
            f"a grid of {dimensions} dimensions must be written {example}, not {shown}"
        )
    if math.prod(sides) != ranks:
        raise InputError(
            f"the grid {shown} has {math.prod(sides)} places for {ranks} ranks; "
            f"{'x'.join(map(str, process_grid(ranks, dimensions)))} would fit"
        )


def neighbour(rank: int, sides: Sequence[int], dimension: int, step: int, periodic: bool) -> int:
    """Return the rank `step` places further in a grid; -1 past its end.

    Ranks are numbered with the first dimension running fastest.
    """
    stride = math.prod(sides[:dimension])
    side = sides[dimension]
    place = rank // stride % side
    target = place + step
    if not 0 <= target < side:
        if not periodic:
            return -1
        target %= side
    return rank + (target - place) * stride
