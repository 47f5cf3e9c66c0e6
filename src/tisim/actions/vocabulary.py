"""From the numbers of a trace line to the schedule of a collective.

The grammar of the lines is that of time-independent traces (SimGrid 3.20 and later); the reader
drops the flops of `reduce`, `allreduce`, `scan` and `exscan`, which it makes an operation of its
own, and keeps those of `reducescatter`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tisim._core import Stage
from tisim.actions.collectives import communicators, nonblocking
from tisim.actions.collectives.catalogue import Algorithm
from tisim.actions.script import Script
from tisim.errors import InputError

#: Bytes of one element, by the type's number in a trace.
TYPE_WIDTHS: dict[int, int] = dict(
    enumerate(
        (
            *(8, 4, 1, 2, 8, 4, 1, 8, 1, 1),  # double int char short long float byte long long...
            *(2, 4, 8, 8, 16, 4, 1, 1, 2, 4),  # unsigned ones, long double, wchar, bool, int8...
            *(8, 1, 2, 4, 8, 8, 16, 32, 8, 8),  # ...uint64, complex types, aint, offset
            *(8, 16, 16, 8, 8, 8, 16, 16, 4, 4),  # pairs for MPI_MINLOC, Fortran's real
            *(8, 16, 8, 16, 16, 4, 2, 4, 8, 16),  # Fortran's real, complex and integer
            *(32, 1, 8, 16, 32, 0, 0, 1, 8, 8),  # ..., bounds, packed, pointers, count
        )
    )
)
#: A derived type whose width the tracer has lost: it counts as nothing.
LOST_TYPE = -1
TYPE_WIDTHS[LOST_TYPE] = 0

_DOUBLE, _BYTE = 0, 6


class Chooses(Protocol):
    """A configuration, as far as collectives need one."""

    def collective(self, operation: str) -> str:
        """Return the name of the algorithm or selector of `operation`."""
        ...

    def algorithm(self, operation: str) -> Algorithm:
        """Return that algorithm or selector."""
        ...


class _Line:
    """The numbers of a line, taken from the left; `usage` is what the line should look like."""

    __slots__ = ("operation", "numbers", "next", "default_type", "size", "usage", "flops")

    def __init__(
        self, operation: str, numbers: Sequence[float], default_type: int, size: int, usage: str
    ) -> None:
        self.operation = operation
        self.numbers = numbers
        self.next = 0
        self.default_type = default_type
        self.size = size
        self.usage = usage
        self.flops = 0.0

    def _take(self) -> float:
        if self.next >= len(self.numbers):
            raise InputError(f"too few arguments: write {self.operation} with {self.usage}")
        self.next += 1
        return self.numbers[self.next - 1]

    def count(self) -> int:
        """A number of elements."""
        number = int(self._take())
        if number < 0:
            raise InputError(f"{self.operation}: a count cannot be negative, got {number}")
        return number

    def counts(self) -> list[int]:
        """A number of elements for each rank."""
        counts = list(map(int, self.numbers[self.next : self.next + self.size]))
        if len(counts) < self.size or min(counts) < 0:
            return [self.count() for _ in range(self.size)]  # one of them says what is wrong
        self.next += self.size
        return counts

    def take_flops(self) -> None:
        """Keep an amount of computation, in flops, for the end of the schedule."""
        self.flops = float(self._take())
        if not self.flops >= 0:
            raise InputError(f"{self.operation}: flops cannot be negative, got {self.flops:g}")

    def root(self) -> int:
        """The root's rank, 0 when the line ends before it."""
        root = int(self._take()) if self.next < len(self.numbers) else 0
        if not 0 <= root < self.size:
            raise InputError(
                f"{self.operation}: root {root} is not a rank of a communicator of {self.size} "
                f"ranks; give one from 0 to {self.size - 1}"
            )
        return root

    def width(self) -> int:
        """The bytes of one element of a type, the default type when the line ends before it."""
        more = self.next < len(self.numbers)
        number = int(self._take()) if more else self.default_type
        width = TYPE_WIDTHS.get(number)
        if width is None:
            raise InputError(
                f"{self.operation}: there is no type {number}; types are numbered from "
                f"{min(TYPE_WIDTHS)} to {max(TYPE_WIDTHS)}"
            )
        return width

    def end(self) -> None:
        """Check that nothing is left."""
        if self.next < len(self.numbers):
            raise InputError(f"too many arguments: write {self.operation} with {self.usage}")


# What follows a line's first word, as arguments of the operation's algorithm.
_Arguments = tuple[object, ...]


def _none(line: _Line) -> _Arguments:
    return ()


def _rooted_count(line: _Line) -> _Arguments:
    count, root, width = line.count(), line.root(), line.width()
    return count, width, root


def _count(line: _Line) -> _Arguments:
    return line.count(), line.width()


def _two_counts(line: _Line) -> _Arguments:
    scount, rcount, swidth, rwidth = line.count(), line.count(), line.width(), line.width()
    return scount, swidth, rcount, rwidth


def _rooted_two_counts(line: _Line) -> _Arguments:
    scount, rcount, root = line.count(), line.count(), line.root()
    swidth, rwidth = line.width(), line.width()
    return scount, swidth, rcount, rwidth, root


def _gatherv(line: _Line) -> _Arguments:
    scount, rcounts, root = line.count(), line.counts(), line.root()
    swidth, rwidth = line.width(), line.width()
    return scount, swidth, rcounts, rwidth, root


def _scatterv(line: _Line) -> _Arguments:
    scounts, rcount, root = line.counts(), line.count(), line.root()
    swidth, rwidth = line.width(), line.width()
    return scounts, swidth, rcount, rwidth, root


def _allgatherv(line: _Line) -> _Arguments:
    scount, rcounts = line.count(), line.counts()
    left = len(line.numbers) - line.next
    if left == line.size and left > 2:  # displacements without types
        swidth = rwidth = TYPE_WIDTHS[line.default_type]
    else:
        swidth, rwidth = line.width(), line.width()
    # Displacements say where the data lie in memory, which costs nothing.
    line.next = min(line.next + line.size, len(line.numbers))
    return scount, swidth, rcounts, rwidth


def _alltoallv(line: _Line) -> _Arguments:
    line.count()  # of the send buffer: the counts say as much
    scounts = line.counts()
    line.count()
    rcounts = line.counts()
    swidth, rwidth = line.width(), line.width()
    return scounts, swidth, rcounts, rwidth


def _reduce_scatter(line: _Line) -> _Arguments:
    rcounts = line.counts()
    line.take_flops()
    return rcounts, line.width()


# Line word -> (operation, reader of the arguments, what the line looks like).
_LINES: dict[str, tuple[str, Callable[[_Line], _Arguments], str]] = {
    "barrier": ("barrier", _none, "no argument"),
    "bcast": ("bcast", _rooted_count, "count [root [type]]"),
    "reduce": ("reduce", _rooted_count, "count flops [root [type]]"),
    "allreduce": ("allreduce", _count, "count flops [type]"),
    "scan": ("scan", _count, "count flops [type]"),
    "exscan": ("exscan", _count, "count flops [type]"),
    "gather": ("gather", _rooted_two_counts, "scount rcount [root [stype rtype]]"),
    "scatter": ("scatter", _rooted_two_counts, "scount rcount [root [stype rtype]]"),
    "gatherv": ("gatherv", _gatherv, "scount, a count a rank, [root [stype rtype]]"),
    "scatterv": ("scatterv", _scatterv, "a count a rank, rcount [root [stype rtype]]"),
    "allgather": ("allgather", _two_counts, "scount rcount [stype rtype]"),
    "allgatherv": (
        "allgatherv",
        _allgatherv,
        "scount, a count a rank, [stype rtype] [a displacement a rank]",
    ),
    "alltoall": ("alltoall", _two_counts, "scount rcount [stype rtype]"),
    "alltoallv": (
        "alltoallv",
        _alltoallv,
        "sbuf, a count a rank, rbuf, a count a rank, [stype rtype]",
    ),
    "reducescatter": ("reduce_scatter", _reduce_scatter, "a count a rank, flops [type]"),
}
_LINES |= {
    f"i{word}": (f"i{operation}", reader, usage)
    for word, (operation, reader, usage) in _LINES.items()
}

#: First words of the lines that `expand` takes, in lower case.
COLLECTIVES = frozenset(_LINES)


def algorithm_name(operation: str, config: Chooses) -> str:
    """Name of the algorithm or selector that a line uses; a non-blocking one has its own."""
    if operation.startswith("i"):
        return operation
    return config.collective(_LINES[operation][0])


def expand(
    operation: str,
    arguments: Sequence[float],
    *,
    double_default: bool,
    rank: int,
    size: int,
    placement: Sequence[int] | None,
    config: Chooses,
    order: Sequence[int] | None = None,
    surveyed: frozenset[int] = frozenset(),
) -> Script:
    """Write the schedule of one rank for one line of its trace.

    Parameters
    ----------
    operation
        The first word of the line in lower case, one of `COLLECTIVES`. That of a non-blocking
        collective gives a schedule that starts requests and does not wait for them.
    arguments
        The numbers that follow, without the flops of a reduction (`reducescatter` keeps its).
    double_default
        The type of a line that names none is double; it is byte otherwise.
    rank, size
        This rank and the number of ranks of the communicator.
    placement, order, surveyed
        See `Script`; its attribute `surveyed` is to be given to the rank's next call on the same
        communicator. Schedules of two calls with other values of `surveyed` may differ.
    config
        Names the algorithm or selector of an operation.

    Returns
    -------
    Script
        The messages of the rank, and after them the flops of a `reducescatter`.

    Raises
    ------
    InputError
        The numbers do not make a call, or `config` names an algorithm that does not exist or
        that cannot work on this communicator.
    """
    name, read, usage = _LINES[operation]
    default_type = _DOUBLE if double_default else _BYTE
    line = _Line(operation, arguments, default_type, size, usage)
    call = read(line)
    line.end()
    script = _script(rank, size, placement, config, order, surveyed)
    if operation[0] == "i":
        getattr(nonblocking, name)(script, *call)
    elif size > 1 or operation != "bcast":  # MPI_Bcast of one rank ends before it chooses
        script.chosen(name)(script, *call)
    script.compute(line.flops)
    return script


def expand_communicator(
    stage: Stage,
    member: bool,
    groups: Sequence[Sequence[int]],
    *,
    rank: int,
    size: int,
    placement: Sequence[int] | None,
    config: Chooses,
    order: Sequence[int] | None = None,
    surveyed: frozenset[int] = frozenset(),
) -> Script:
    """Write the schedule of one rank in a stage of a `comm_split` or `comm_dup`.

    Parameters
    ----------
    stage
        What comes: ``COLORS`` on rank 0 of the parent, then ``GROUPS`` there; ``GROUPS`` for
        both on its other ranks; ``NUMBER`` on the ranks of the new communicator.
    member
        Whether the rank will be in a new communicator.
    groups
        The ranks of each new communicator (`communicators.tell_groups`), in ``GROUPS`` on rank 0.
    rank, size, placement, config, order, surveyed
        See `expand`; of the parent, in ``NUMBER`` of the new communicator.
    """
    script = _script(rank, size, placement, config, order, surveyed)
    if stage == Stage.NUMBER:
        communicators.agree_on_number(script)
    elif stage == Stage.COLORS:
        communicators.gather_colors(script)
    elif rank == 0:
        communicators.tell_groups(script, groups)
    else:
        communicators.comm_split(script, member, groups)
    return script


def _script(
    rank: int,
    size: int,
    placement: Sequence[int] | None,
    config: Chooses,
    order: Sequence[int] | None,
    surveyed: frozenset[int],
) -> Script:
    return Script(rank, size, placement, order=order, surveyed=surveyed, choose=config.algorithm)
