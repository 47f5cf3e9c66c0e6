"""The parts of the merged program: calls, loops and stages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tisim.traces.extrapolation.merging.kinds import Forms, Kind
from tisim.traces.extrapolation.peers import PeerForm
from tisim.traces.extrapolation.shapes import Numbers, Shape

Mask = NDArray[np.bool_]


class CallOf(NamedTuple):
    """A call of one class of ranks.

    Attributes
    ----------
    size
        Which of the traces it is of.
    ranks
        The ranks.
    numbers
        For each hole the number of each of them.
    volumes
        What each of them computes before it on average; where that is fitted.
    """

    size: int
    ranks: Numbers
    numbers: tuple[Numbers, ...]
    volumes: NDArray[np.float64] | None


@dataclass(eq=False)
class Site:
    """A call of the merged program.

    Attributes
    ----------
    kind
        What it is compared by.
    calls
        The same call of each class that makes it.
    sizes
        The numbers of ranks of the traces.
    """

    kind: Kind
    calls: tuple[CallOf, ...]
    sizes: Sequence[int]

    @property
    def shape(self) -> Shape:
        """Its text."""
        return self.kind.shape

    @property
    def forms(self) -> Mapping[int, Forms]:
        """Of each hole that takes a rank, the formulas that hold, see `Peers`."""
        return self.kind.peers.forms

    @property
    def varying(self) -> frozenset[int]:
        """The holes, but those that take ranks, whose numbers differ within a class."""
        return self.kind.plain.varying

    @cached_property
    def support(self) -> int:
        """How many ranks of all traces make it."""
        return sum(len(call.ranks) for call in self.calls)

    @cached_property
    def present(self) -> list[Mask]:
        """Of each trace, which ranks make it."""
        return _present(self.sizes, self.calls)

    @cached_property
    def numbers(self) -> list[list[Numbers]]:
        """Of each trace and hole, the number of each rank."""
        holes = range(len(self.shape.marks))
        made = [[np.zeros(ranks, dtype=np.int64) for _ in holes] for ranks in self.sizes]
        for call in self.calls:
            for of_ranks, values in zip(made[call.size], call.numbers, strict=True):
                of_ranks[call.ranks] = values
        return made

    @cached_property
    def volumes(self) -> list[NDArray[np.float64]]:
        """Of each trace, what each rank computes before the call on average."""
        made = [np.zeros(ranks) for ranks in self.sizes]
        for call in self.calls:
            if call.volumes is not None:
                made[call.size][call.ranks] = call.volumes
        return made


class LoopOf(NamedTuple):
    """A loop of one class of ranks: the trace, the ranks, and how many iterations they make."""

    size: int
    ranks: Numbers
    times: int


@dataclass(eq=False)
class Loop:
    """A loop of the merged program.

    Attributes
    ----------
    loops
        The same loop of each class that comes to it.
    sizes
        The numbers of ranks of the traces.
    body
        What is repeated.
    """

    loops: tuple[LoopOf, ...]
    sizes: Sequence[int]
    body: list[Node]

    @cached_property
    def support(self) -> int:
        """How many ranks of all traces come to it."""
        return sum(len(loop.ranks) for loop in self.loops)

    @cached_property
    def present(self) -> list[Mask]:
        """Of each trace, which ranks come to it."""
        return _present(self.sizes, self.loops)

    @cached_property
    def times(self) -> list[Numbers]:
        """Of each trace, how many iterations each rank makes."""
        made = [np.zeros(ranks, dtype=np.int64) for ranks in self.sizes]
        for loop in self.loops:
            made[loop.size][loop.ranks] = loop.times
        return made


def _present(sizes: Sequence[int], classes: Iterable[CallOf | LoopOf]) -> list[Mask]:
    made = [np.zeros(ranks, dtype=np.bool_) for ranks in sizes]
    for one in classes:
        made[one.size][one.ranks] = True
    return made


@dataclass(frozen=True, order=True)
class StagedForm:
    """A formula for a rank that depends on the stage, or does not.

    Attributes
    ----------
    kind, sign
        As in `PeerForm`; the distance has this sign.
    doubles
        Whether the distance is 2^stage, and not stage + 1.
    fixed
        The formula of all stages, where it does not depend on them.
    """

    kind: str
    sign: int = 1
    doubles: bool = True
    fixed: PeerForm | None = None

    def at(self, stage: int) -> PeerForm:
        """The formula in a stage."""
        if self.fixed is not None:
            return self.fixed
        return PeerForm(self.kind, (self.sign * (1 << stage if self.doubles else stage + 1),))


@dataclass(eq=False)
class Stages:
    """Stages of the merged program.

    Attributes
    ----------
    sites
        Of each stage of the largest trace, from stage 0, its calls.
    counts
        How many stages each trace has.
    falls
        Whether the last stage comes first.
    forms
        Of each call and hole that takes a rank, the formulas that hold in all stages.
    """

    sites: list[list[Site]]
    counts: list[int]
    falls: bool
    forms: list[dict[int, list[StagedForm]]]


Node = Site | Loop | Stages


def described(node: Site | Loop, at: str) -> str:
    """A part of the program as messages call it: what it is, and its path."""
    if isinstance(node, Loop):
        return f"loop {at}".rstrip()
    return f"{f'call {at}'.rstrip()} ({node.shape.shown()})"
