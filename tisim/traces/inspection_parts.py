"""Parts of an inspection's results: classes of ranks, loops, calls, call sites."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a packed file.

    Parameters
    ----------
    name, version
        The section's name and version.
    required
        Whether a reader must understand it.
    stored
        Its bytes in the file.
    size
        Its bytes before compression.
    """

    name: str
    version: int
    required: bool
    stored: int
    size: int


@dataclass(frozen=True, slots=True)
class OutlineLine:
    """A line of a program's outline.

    Parameters
    ----------
    what
        ``"call"``, ``"loop"`` (its lines follow one level deeper) or ``"left out"``.
    depth
        Number of enclosing loops.
    times
        Number of consecutive repetitions.
    text
        The call: ``rank+1`` is a peer relative to the rank, ``<by rank>`` a number specific to
        each rank, ``*`` a number that differs from call to call.
    calls
        Number of calls in each repetition.
    """

    what: str
    depth: int
    times: int
    text: str
    calls: int


@dataclass(frozen=True, slots=True)
class CallPath:
    """Location in the program from which an action is called.

    Parameters
    ----------
    path
        Functions and lines, callers first: ``"main (ring.c:12) > exchange (ring.c:5)"``. Modules
        and addresses where these cannot be found.
    action
        The action called: ``"isend"``.
    calls
        Number of calls by all ranks.
    """

    path: str
    action: str
    calls: int


@dataclass(frozen=True, slots=True)
class ComputedPath:
    """Location of computations in the program.

    Parameters
    ----------
    path
        As in `CallPath`; ends at the computing line.
    samples
        Number of samples there.
    share
        Its fraction of all samples of all ranks.
    """

    path: str
    samples: int
    share: float


@dataclass(frozen=True, slots=True)
class RankClass:
    """Ranks with the same behaviour.

    Parameters
    ----------
    number
        Its number in the file.
    ranks
        Number of ranks.
    stretches
        First and last rank of each range of consecutive ranks, at most 16 ranges.
    stretch_count
        Number of ranges.
    calls
        Calls of one rank; volumes that vary are stored separately, in columns.
    distinct_calls
        Number of distinct calls.
    rules, items
        Size of the grammar.
    longest_loop
        Maximum number of iterations of a loop; 0 without loops.
    outline
        The program of one rank; only the eight classes with the most calls have one.
    """

    number: int
    ranks: int
    stretches: tuple[tuple[int, int], ...]
    stretch_count: int
    calls: int
    distinct_calls: int
    rules: int
    items: int
    longest_loop: int
    outline: tuple[OutlineLine, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A repeated part of the program.

    Parameters
    ----------
    iterations
        Number of iterations each time the loop is entered.
    entered
        Total number of times the ranks enter it.
    calls
        Calls of one iteration.
    classes, ranks
        Number of classes with this loop, and number of their ranks.
    actions
        Actions of one iteration, each with its count.
    """

    iterations: int
    entered: int
    calls: int
    classes: int
    ranks: int
    actions: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """A call, relative to the rank that makes it.

    Parameters
    ----------
    text
        As in `OutlineLine`.
    calls
        Total number of these calls on all ranks.
    classes, ranks
        Number of classes that make the call, and number of their ranks.
    """

    text: str
    calls: int
    classes: int
    ranks: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """Values of all calls at one site.

    Parameters
    ----------
    count
        Number of values.
    sum, least, most
        Sum, minimum and maximum of the values.
    histogram
        Lower and upper bound of each bin, and its number of values: bins span consecutive powers
        of two, and the first one 0 to 1. Empty bins are left out.
    """

    count: int
    sum: float
    least: float
    most: float
    histogram: tuple[tuple[float, float, int], ...]

    @property
    def mean(self) -> float:
        """The mean; 0 without values."""
        return self.sum / self.count if self.count else 0.0


@dataclass(frozen=True, slots=True)
class CallSite:
    """Calls of one action with equal arguments, whatever their peers.

    If the trace has call sites, only the calls from one location in the program.

    Parameters
    ----------
    text
        The call, with ``<peer>`` for ranks and ``*`` for varying numbers; empty for the end of the
        trace.
    calls
        Number of calls.
    bytes
        Size of each call: the bytes sent, the buffer of a receive, and for a collective the rank's
        contribution or else its result.
    volumes
        Computation directly before a call, in flops or the unit of the trace.
    path
        Call path in the program, callers first; None if the trace does not contain it.
    """

    text: str
    calls: int
    bytes: Distribution
    volumes: Distribution
    path: str | None = None
