"""The parts of the merged program: calls, loops and stages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tisim.traces.extrapolation.grids import PeerForm
from tisim.traces.extrapolation.kinds import CallKind, Forms
from tisim.traces.extrapolation.shapes import Numbers, Shape

Mask = NDArray[np.bool_]


class CallOf(NamedTuple):
    """A call of one class of ranks."""

    #: Which of the traces it is of.
    size: int
    ranks: Numbers
    #: For each hole the number of each of them.
    numbers: tuple[Numbers, ...]
    #: The mean computation of each before it; where that is fitted.
    volumes: NDArray[np.float64] | None


@dataclass(eq=False)
class MergedCall:
    """A call of the merged program."""

    kind: CallKind
    #: The same call of each class that makes it.
    calls: tuple[CallOf, ...]
    #: The numbers of ranks of the traces.
    sizes: Sequence[int]

    @property
    def shape(self) -> Shape:
        """Its text."""
        return self.kind.shape

    @property
    def forms(self) -> Mapping[int, Forms]:
        """The formulas that hold, by hole that takes a rank; see `Peers`."""
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
        """The ranks that make it, by trace."""
        return _present(self.sizes, self.calls)

    @cached_property
    def made(self) -> list[bool]:
        """For each trace, true if one of its ranks makes it."""
        return [bool(present.any()) for present in self.present]

    @cached_property
    def numbers(self) -> list[list[Numbers]]:
        """The number of each rank, by trace and hole."""
        holes = range(len(self.shape.marks))
        made = [[np.zeros(ranks, dtype=np.int64) for _ in holes] for ranks in self.sizes]
        for call in self.calls:
            for of_ranks, values in zip(made[call.size], call.numbers, strict=True):
                of_ranks[call.ranks] = values
        return made

    @cached_property
    def volumes(self) -> list[NDArray[np.float64]]:
        """The mean computation of each rank before the call, by trace."""
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
    """A loop of the merged program."""

    #: The same loop of each class that comes to it.
    loops: tuple[LoopOf, ...]
    sizes: Sequence[int]
    body: list[Node]

    @cached_property
    def support(self) -> int:
        """How many ranks of all traces come to it."""
        return sum(len(loop.ranks) for loop in self.loops)

    @cached_property
    def present(self) -> list[Mask]:
        """The ranks that come to it, by trace."""
        return _present(self.sizes, self.loops)

    @cached_property
    def times(self) -> list[Numbers]:
        """The iterations of each rank, by trace."""
        made = [np.zeros(ranks, dtype=np.int64) for ranks in self.sizes]
        for loop in self.loops:
            made[loop.size][loop.ranks] = loop.times
        return made


def _present(sizes: Sequence[int], classes: Iterable[CallOf | LoopOf]) -> list[Mask]:
    made = [np.zeros(ranks, dtype=np.bool_) for ranks in sizes]
    for entry in classes:
        made[entry.size][entry.ranks] = True
    return made


@dataclass(frozen=True, order=True)
class StagedForm:
    """A formula for a rank that depends on the stage, or does not."""

    #: As in `PeerForm`; the distance has this sign.
    kind: str
    sign: int = 1
    #: True if the distance is 2^stage, and not stage + 1.
    doubles: bool = True
    #: The formula of all stages, where it does not depend on them.
    fixed: PeerForm | None = None

    def at(self, stage: int) -> PeerForm:
        """The formula in a stage."""
        if self.fixed is not None:
            return self.fixed
        return PeerForm(self.kind, (self.sign * (1 << stage if self.doubles else stage + 1),))


@dataclass(eq=False)
class Stages:
    """Stages of the merged program."""

    #: The calls of each stage of the largest trace, from stage 0.
    sites: list[list[MergedCall]]
    #: How many stages each trace has.
    counts: list[int]
    #: True if the last stage comes first.
    falls: bool
    #: The formulas that hold in all stages, by call and hole that takes a rank.
    forms: list[dict[int, list[StagedForm]]]


Node = MergedCall | Loop | Stages


def described(node: MergedCall | Loop, at: str) -> str:
    """A part of the program as messages call it: what it is, and its path."""
    if isinstance(node, Loop):
        return f"loop {at}".rstrip()
    return f"{f'call {at}'.rstrip()} ({node.shape.shown()})"


# In stage k a rank talks to the ranks at the distance 2^k, or k + 1. The merged program has the
# calls of each stage one after the other, and their number depends on the number of ranks.

# Calls of a stage, and stages of the largest trace that show what follows from their numbers.
_MOST_CALLS = 12
_FEWEST_STAGES = 2
_FORMS = tuple(
    StagedForm(kind, sign, doubles)
    for kind in ("plus", "around", "xor")
    for sign in ((1,) if kind == "xor" else (1, -1))
    for doubles in (True, False)
)


def staged(nodes: Sequence[Node]) -> list[Node]:
    """The program with its stages found."""
    made: list[Node] = []
    rest = list(nodes)
    while rest:
        node = rest[0]
        if isinstance(node, Loop):
            before, loop, rest = _turned(node, rest[1:])
            # The calls that are now before the loop may end the stages that it follows.
            if before:
                made = staged([*made, *before])
            made.append(loop)
            continue
        found = _stages_at(rest, 0)
        if found is None:
            made.append(rest.pop(0))
        else:
            made.append(found)
            del rest[: len(found.sites) * len(found.sites[0])]
    return made


def _turned(loop: Loop, rest: list[Node]) -> tuple[list[Node], Loop, list[Node]]:
    """A loop that begins where most stages are found: what is before it, it, and what is behind.

    Loops begin as early as they can, which may be within a stage.
    """
    most = 0
    while most < min(len(rest), len(loop.body) - 1) and _same(loop.body[most], rest[most]):
        most += 1
    turned = []
    for count in range(most + 1):
        body = staged([*loop.body[count:], *loop.body[:count]])
        turned.append(replace(loop, body=body))
    best = min(range(most + 1), key=lambda count: _nodes(turned[count].body))
    return rest[:best], turned[best], rest[best:]


def _nodes(nodes: Sequence[Node]) -> int:
    return sum(1 + _nodes(node.body) if isinstance(node, Loop) else 1 for node in nodes)


def _same(one: Node, other: Node) -> bool:
    """True if two calls are made by the same ranks with the same numbers."""
    if (
        not isinstance(one, MergedCall)
        or not isinstance(other, MergedCall)
        or one.shape != other.shape
    ):
        return False
    return all(
        np.array_equal(mine, theirs)
        for mine, theirs in zip(
            [*one.present, *chain(*one.numbers)],
            [*other.present, *chain(*other.numbers)],
            strict=True,
        )
    )


def _stages_at(nodes: Sequence[Node], start: int) -> Stages | None:
    """The stages that begin at a call, as many as can be."""
    best: Stages | None = None
    for length in range(1, _MOST_CALLS + 1):
        windows = _windows(nodes, start, length)
        if len(windows) < _FEWEST_STAGES:
            continue
        made = _Made(windows)
        for count in range(len(windows), _FEWEST_STAGES - 1, -1):
            for falls in (False, True):
                counts = made.counts(count, falls)
                found = counts and _fitted(windows[:count], falls, counts)
                if found and (best is None or count * length > len(best.sites) * len(best.forms)):
                    best = found
            if best is not None:
                break
    return best


def _windows(nodes: Sequence[Node], start: int, length: int) -> list[list[MergedCall]]:
    """Groups of calls in a row with the same texts as the first ones."""
    windows: list[list[MergedCall]] = []
    for first in range(start, len(nodes) - length + 1, length):
        window = [node for node in nodes[first : first + length] if isinstance(node, MergedCall)]
        if len(window) < length:
            break
        if windows and any(a.shape != b.shape for a, b in zip(window, windows[0], strict=True)):
            break
        windows.append(window)
    return windows


def _fitted(windows: Sequence[list[MergedCall]], falls: bool, counts: list[int]) -> Stages | None:
    sites = list(reversed(windows)) if falls else list(windows)
    forms: list[dict[int, list[StagedForm]]] = []
    depends = False
    for column in zip(*sites, strict=True):
        of_call: dict[int, list[StagedForm]] = {}
        for hole in column[0].forms:
            common = frozenset.intersection(*(site.forms[hole] for site in column))
            fitting = [StagedForm("", fixed=form) for form in sorted(common)]
            fitting += [
                form
                for form in _FORMS
                if all(form.at(stage) in site.forms[hole] for stage, site in enumerate(column))
            ]
            if not fitting:
                return None
            depends = depends or not common
            of_call[hole] = fitting
        depends = depends or any(column[0].varying)
        forms.append(of_call)
    return Stages(sites, counts, falls, forms) if depends else None


class _Made:
    """Which traces make which groups of calls, the first so many of them looked at together."""

    def __init__(self, windows: Sequence[list[MergedCall]]) -> None:
        made = np.array([[call.made for call in window] for window in windows], dtype=np.bool_)
        whole: Mask = np.asarray(made.all(axis=1))
        mixed: Mask = np.asarray((made.any(axis=1) != whole).any(axis=1))
        begins, ends = whole[1:] & ~whole[:-1], whole[:-1] & ~whole[1:]
        self._sums = whole.cumsum(axis=0)
        # How many groups may be stages at most: a trace has the first ones, or the last ones.
        self._most = [_until(mixed, change) for change in (begins, ends)]

    def counts(self, count: int, falls: bool) -> list[int] | None:
        """How many of the first `count` groups each trace makes; None if they are not stages."""
        if count > self._most[falls]:
            return None
        counts: list[int] = self._sums[count - 1].tolist()
        return None if len(set(counts)) == 1 else counts


def _until(mixed: Mask, changes: Mask) -> int:
    """How many groups are made whole or not at all, before a trace changes."""
    wrong = mixed.copy()
    wrong[1:] |= changes.any(axis=1)
    return int(wrong.argmax()) if wrong.any() else len(wrong)
