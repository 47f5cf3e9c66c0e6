"""Parts of what an inspection finds: classes of ranks, loops, calls, call sites."""

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
        Whether a reader must know it.
    stored
        The bytes that it takes in the file.
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
        ``"call"``, ``"loop"``, whose lines follow one deeper, or ``"left out"``.
    depth
        How many loops are around it.
    times
        How often it is repeated where it stands.
    text
        The call: ``rank+1`` is a peer relative to the rank, ``<by rank>`` a number of each rank's
        own, ``*`` one that is another each time.
    calls
        The calls that it stands for each time.
    """

    what: str
    depth: int
    times: int
    text: str
    calls: int


@dataclass(frozen=True, slots=True)
class CallPath:
    """Where in the program an action is called.

    Parameters
    ----------
    path
        Functions and lines, callers first: ``"main (ring.c:12) > exchange (ring.c:5)"``. Where
        these cannot be found, modules and addresses.
    action
        What is called: ``"isend"``.
    calls
        How often, by all ranks.
    """

    path: str
    action: str
    calls: int


@dataclass(frozen=True, slots=True)
class ComputedPath:
    """Where in the program computations are.

    Parameters
    ----------
    path
        As that of a `CallPath`; it ends at the line that computes.
    samples
        How often a rank was seen there.
    share
        The part of all samples of all ranks.
    """

    path: str
    samples: int
    share: float


@dataclass(frozen=True, slots=True)
class RankClass:
    """Ranks that do the same.

    Parameters
    ----------
    number
        Its number in the file.
    ranks
        How many ranks there are.
    stretches
        The first and the last rank of each stretch of consecutive ranks, 16 stretches at most.
    stretch_count
        How many stretches there are.
    calls
        The calls of one rank; volumes that differ each time stand beside them, in columns.
    distinct_calls
        How many different ones these are.
    rules, items
        The size of the grammar.
    longest_loop
        The most iterations of a loop; 0 without loops.
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
    """A part of the program that is repeated.

    Parameters
    ----------
    iterations
        How often, each time that it is entered.
    entered
        How often the ranks come to it, all together.
    calls
        The calls of one iteration.
    classes, ranks
        How many classes have the loop, and how many ranks these have.
    actions
        The actions of one iteration, and how many there are of each.
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
        How often all ranks make it together.
    classes, ranks
        How many classes make it, and how many ranks these have.
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
        How many there are.
    sum, least, most
        Of the values.
    histogram
        Lower and upper end of each bin, and the number of values in it: bins go from one power of
        two to the next, and the first one from 0 to 1. Empty bins are left out.
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
    """Calls of one action with equal arguments, whatever their peers are.

    Where the trace says at which place of the program a call is made, those of one place.

    Parameters
    ----------
    text
        The call, with ``<peer>`` for ranks and ``*`` for what differs; empty for the end of the
        trace.
    calls
        How many there are.
    bytes
        The size of each: of a send what it sends, of a receive its buffer, of a collective what
        the rank contributes, or else what it gets.
    volumes
        What is computed directly before a call, in flops, or in whatever the trace counts.
    path
        The call path in the program, callers first; None where the trace does not say it.
    """

    text: str
    calls: int
    bytes: Distribution
    volumes: Distribution
    path: str | None = None
